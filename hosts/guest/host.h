/* SPDX-License-Identifier: Apache-2.0 */
/* The two hosts of a guest: network namespaces, each with one interface to the bottleneck. */
#ifndef GUEST_HOST_H
#define GUEST_HOST_H

#include <stdint.h>

#include "common/failure.h"

enum side {
	SENDERS,
	RECEIVERS,
	N_SIDES,
};

/* "snd", "rcv", NULL */
extern const char *const side_names[];

/* Make the receivers' namespace; the senders' is the first one. */
int hosts_make(struct failure *failure);

/* Be in a side's namespace from here on. */
int host_enter(enum side side, struct failure *failure);

/* All of these act on the namespace that this process is in. An address or network is
 * "10.64.0.1/16"; the source of a route, which sockets have that name none, is "10.64.0.1/32".
 */
int host_bring_up(enum side side, struct failure *failure);
int host_add_address(enum side side, const char *text, struct failure *failure);
int host_add_route(enum side side, const char *network, const char *source,
		   struct failure *failure);
int host_set_sysctl(const char *name, const char *value, struct failure *failure);
int host_set_qdisc(enum side side, const char *kind, struct failure *failure);

/* What queues before an interface.
 *
 * dropped: packets that it dropped.
 * throttled: how often fq held back a flow's packet until its time, by the pacing rate of its
 *            socket; 0 of another.
 */
struct qdisc {
	char kind[16];
	uint64_t dropped;
	uint64_t throttled;
};

/* The one that was set. */
int host_read_qdisc(enum side side, struct qdisc *qdisc, struct failure *failure);

#endif
