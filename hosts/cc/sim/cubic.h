/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CC_SIM_CUBIC_H
#define CC_SIM_CUBIC_H

#include "../cc.h"

extern const struct tcp_congestion_ops sim_cubic;

#endif
