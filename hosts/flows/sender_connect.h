/* SPDX-License-Identifier: Apache-2.0 */
/* Connects all flows, a window at a time, before a deadline. */
#ifndef FLOWS_SENDER_CONNECT_H
#define FLOWS_SENDER_CONNECT_H

#include "sender_flow.h"

/* Returns 0 also when a signal ended it. */
int sender_connect_all(struct sender_flows *all);

/* The first flow that is not connected has waited for too long: always -1. */
int sender_connect_too_late(const struct sender_flows *all);

#endif
