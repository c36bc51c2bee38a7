/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_LOOP_H
#define NASHBED_LOOP_H

#include "dataplane.h"

/* Nanoseconds on the switch clock. */
uint64_t loop_now_ns(const struct dataplane *dp);

/* Send a frame in this round; lane is NO_LANE where its lateness is not measured. */
void loop_send(struct dataplane *dp, enum wire_id id, struct rte_mbuf *mbuf, uint32_t lane,
	       uint64_t departure_ns);

/* A postcard to its lane's collector; context is the dataplane. */
void loop_postcard(void *context, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES]);

/* Run until dp->stop: polling, or sleeping until the next event. */
void loop_run(struct dataplane *dp);

#endif
