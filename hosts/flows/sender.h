/* SPDX-License-Identifier: Apache-2.0 */
/* The sender's role. */
#ifndef FLOWS_SENDER_H
#define FLOWS_SENDER_H

#include "config.h"

/* The whole role. Returns the exit status, or -1 with the failure set. */
int sender_run(const struct config *config, struct failure *failure);

#endif
