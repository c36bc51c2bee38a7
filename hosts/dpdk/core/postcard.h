/* SPDX-License-Identifier: Apache-2.0 */
/* The telemetry record and the fixed function's headers in front of a packet:
 * big-endian, as P4 has them (p4src/common/postcard.p4, bridge.p4,
 * p4src/dpdk/intrinsic.p4). Golden bytes hold it together with P4 and Python.
 */
#ifndef NASHBED_POSTCARD_H
#define NASHBED_POSTCARD_H

#include <stdint.h>

#define POSTCARD_BYTES 40u
#define POSTCARD_VERSION 1u
#define BRIDGE_BYTES 16u
#define INTRINSIC_BYTES 24u

enum pass {
	PASS_INGRESS = 0,
	PASS_DEPARTED = 1,
	PASS_DROPPED = 2,
};

enum postcard_kind {
	POSTCARD_DEPARTED = 0,
	POSTCARD_DROPPED = 1,
};

struct postcard {
	uint8_t version;
	uint8_t kind;
	uint16_t lane;
	uint32_t flow;
	uint32_t packet_bytes;
	uint32_t queue_bytes;
	uint64_t enqueue_ns; /* 48 bits */
	uint64_t dequeue_ns; /* 48 bits */
	uint32_t tcp_seq;
	uint32_t lane_seq;
	uint16_t payload_bytes;
	uint8_t tcp_flags;
};

static inline uint64_t
get_be(const uint8_t *bytes, unsigned int n)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < n; i++)
		value = value << 8 | bytes[i];
	return value;
}

static inline void
put_be(uint8_t *bytes, unsigned int n, uint64_t value)
{
	for (unsigned int i = n; i > 0; i--) {
		bytes[i - 1] = (uint8_t)value;
		value >>= 8;
	}
}

static inline void
postcard_decode(const uint8_t bytes[POSTCARD_BYTES], struct postcard *p)
{
	p->version = bytes[0];
	p->kind = bytes[1];
	p->lane = (uint16_t)get_be(bytes + 2, 2);
	p->flow = (uint32_t)get_be(bytes + 4, 4);
	p->packet_bytes = (uint32_t)get_be(bytes + 8, 4);
	p->queue_bytes = (uint32_t)get_be(bytes + 12, 4);
	p->enqueue_ns = get_be(bytes + 16, 6);
	p->dequeue_ns = get_be(bytes + 22, 6);
	p->tcp_seq = (uint32_t)get_be(bytes + 28, 4);
	p->lane_seq = (uint32_t)get_be(bytes + 32, 4);
	p->payload_bytes = (uint16_t)get_be(bytes + 36, 2);
	p->tcp_flags = bytes[38];
}

static inline uint16_t
postcard_lane(const uint8_t bytes[POSTCARD_BYTES])
{
	return (uint16_t)get_be(bytes + 2, 2);
}

/* What the fixed function writes in front of a packet for either pass. */
static inline void
intrinsic_encode(uint8_t bytes[INTRINSIC_BYTES], enum pass pass, uint8_t port, uint16_t lane,
		 uint32_t packet_bytes, uint32_t queue_bytes, uint64_t enqueue_ns,
		 uint64_t dequeue_ns)
{
	bytes[0] = (uint8_t)pass;
	bytes[1] = port;
	put_be(bytes + 2, 2, lane);
	put_be(bytes + 4, 4, packet_bytes);
	put_be(bytes + 8, 4, queue_bytes);
	put_be(bytes + 12, 6, enqueue_ns);
	put_be(bytes + 18, 6, dequeue_ns);
}

/* The queue that ingress chose: the bridge's first field. */
static inline uint16_t
bridge_lane(const uint8_t bytes[BRIDGE_BYTES])
{
	return (uint16_t)get_be(bytes, 2);
}

#endif
