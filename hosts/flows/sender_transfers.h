/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows that end: each is a transfer of so many bytes that comes at its time. It has a connection of
 * its own, which is opened then, or takes an idle one of its group and congestion control.
 */
#ifndef FLOWS_SENDER_TRANSFERS_H
#define FLOWS_SENDER_TRANSFERS_H

#include "sender_flow.h"

/* A transfer, and the connection that it would open. */
struct transfer {
	struct transfers *all;
	struct sender_flow *flow;
	struct transfer *carrier; /* whose connection carries it; NULL: it has not come yet */
	int64_t start_ns;	  /* its first write, or its SYN */
	int64_t acked_ns;	  /* all of it was acknowledged; 0: not yet */
	/* Of its connection: */
	struct transfer *carries; /* what is on its way; NULL: it is idle */
	uint64_t left_bytes;	  /* of it, not yet taken by the socket */
	struct transfer *next_idle;
};

/* Connections that may be used in place of each other; the one that was used last is in front. */
struct pool {
	const struct flow_config *like;
	struct transfer *idle;
	const struct cca_state *state; /* of their CCA: */
	bool state_is_known;
};

#define POOLS_MAX 256

struct transfers {
	struct sender_flows *flows;
	struct transfer *list; /* in the order of the flows; NULL: no flow is one */
	struct pool pools[POOLS_MAX];
	size_t pool_count;
};

/* The transfers among the flows. Close them in any case. */
int transfers_open(struct transfers *all, struct sender_flows *flows);
void transfers_close(struct transfers *all);

/* A transfer's time has come. */
int transfers_start(struct transfers *all, struct sender_flow *flow, int64_t now_ns);

/* All flows have ended: write what became of each transfer that came. */
int transfers_finish(struct transfers *all);

#endif
