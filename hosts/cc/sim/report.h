/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulator says: JSON lines. */
#ifndef CC_SIM_REPORT_H
#define CC_SIM_REPORT_H

#include "common/failure.h"

#include "network.h"

/* One "sample" for each flow. */
int report_sample(const struct sim_network *network, struct failure *failure);

/* One "flow" for each flow, and the "end". */
int report_end(const struct sim_network *network, struct failure *failure);

#endif
