/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the traffic manager knows of a packet: an opaque handle, a length, and the
 * intrinsic metadata for egress.
 */
#ifndef NASHBED_QUEUE_PACKET_H
#define NASHBED_QUEUE_PACKET_H

#include <stdint.h>

struct queue_packet {
	void *handle;
	uint32_t lane;
	uint32_t bytes;	      /* Ethernet frame without FCS */
	uint64_t queue_bytes; /* in the queue at enqueue, without this packet */
	uint64_t enqueue_ns;
	uint64_t dequeue_ns; /* end of serialisation; = enqueue_ns when dropped */
};

#endif
