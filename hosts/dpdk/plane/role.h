/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the data plane does between its wires: it is the bottleneck, or the
 * hosts' part beside a switch that is. One file each: role_bottleneck.c,
 * role_hosts.c.
 */
#ifndef NASHBED_ROLE_H
#define NASHBED_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "common/failure.h"
#include "config/config.h"

struct dataplane;
struct delays;

struct role_ops {
	/* Whether what is late on the way out is given back on the way back (path/hold_ups.h). */
	bool gives_back;
	int (*open)(struct dataplane *dp, struct failure *failure);
	void (*close)(struct dataplane *dp);

	/* Data thread. */
	void (*receive)(struct dataplane *dp, enum wire_id id, struct rte_mbuf **mbufs,
			const uint64_t *arrivals_ns, uint32_t n);
	void (*advance)(struct dataplane *dp, uint64_t now_ns);
	uint64_t (*next_event)(const struct dataplane *dp);
	void (*reset_lane)(struct dataplane *dp, uint32_t lane);
	struct delays *(*delays)(struct dataplane *dp);
};

extern const struct role_ops role_bottleneck;
extern const struct role_ops role_hosts;

#endif
