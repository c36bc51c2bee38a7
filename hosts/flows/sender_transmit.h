/* SPDX-License-Identifier: Apache-2.0 */
/* From t0 to the end: starts flows, at times of their own or as iperf3 does, and samples them. */
#ifndef FLOWS_SENDER_TRANSMIT_H
#define FLOWS_SENDER_TRANSMIT_H

#include "sender_applications.h"
#include "sender_process.h"
#include "sender_transfers.h"

/* Returns 0 also when a signal ended it, and then every flow has ended, too. */
int sender_transmit(struct sender_flows *all, struct processes *processes,
		    struct applications *applications, struct transfers *transfers);

#endif
