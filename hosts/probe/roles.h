/* SPDX-License-Identifier: Apache-2.0 */
/* The two roles. Each runs until it is done: 0, or -1 with the failure set. */
#ifndef PROBE_ROLES_H
#define PROBE_ROLES_H

#include "config.h"

/* Sends the frames of a schedule, each at its time, and notes what comes back. */
int prober_run(const struct config *config, struct failure *failure);

/* Records every datagram and sends back those that ask for it, until standard input ends. */
int reflector_run(const struct config *config, struct failure *failure);

#endif
