/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the frames of a schedule, each at its time, and notes what comes back. */
#ifndef PROBE_PROBER_H
#define PROBE_PROBER_H

#include "config.h"

int prober_run(const struct config *config, struct failure *failure);

#endif
