/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The data plane in virtual time: its caller owns the clock and the frames, and there are no
 * threads. It defines the driver's functions of plane/dataplane.h.
 */
#ifndef NASHBED_DRIVER_H
#define NASHBED_DRIVER_H

#include "plane/dataplane.h"

struct virtual_driver {
	struct dataplane dp;
	uint64_t now_ns;
	uint64_t *progress; /* where others can see now_ns; NULL: nowhere */
};

/* Start the data plane of dp.config. */
int virtual_driver_open(struct virtual_driver *v, struct failure *failure);
void virtual_driver_close(struct virtual_driver *v);

/* A frame from a wire; it is the driver's from here on. */
void virtual_driver_receive(struct virtual_driver *v, enum wire_id id, struct rte_mbuf *mbuf,
			    uint64_t now_ns);

/* Work off every event up to now. */
void virtual_driver_advance(struct virtual_driver *v, uint64_t now_ns);
uint64_t virtual_driver_next_event(const struct virtual_driver *v);

/* The next frame for a wire, now the caller's; NULL when there is none. */
struct rte_mbuf *virtual_driver_take(struct virtual_driver *v, enum wire_id *id);

#endif
