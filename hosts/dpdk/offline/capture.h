/* SPDX-License-Identifier: Apache-2.0 */
/* A capture file: its packets one by one, with times on the switch clock (0 at its first), and its
 * flows.
 */
#ifndef NASHBED_CAPTURE_H
#define NASHBED_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/failure.h"
#include "common/shared.h"
#include "pipeline/registers.h"

/* Where the switch clock wraps: after 78 hours. */
#define CAPTURE_CLOCK_END_NS (UINT64_C(1) << CLOCK_BITS)

struct capture {
	const char *path;
	uint64_t first_ns;  /* since 1970; switch time 0 */
	uint64_t packets;   /* up to and with the present one */
	uint64_t last_ns;   /* the latest time so far */
	uint64_t backwards; /* packets whose time was before an earlier one's */
};

struct capture_packet {
	const uint8_t *frame;
	uint32_t captured; /* bytes of the frame that are there */
	uint32_t bytes;
	uint64_t now_ns; /* never before an earlier packet's */
};

/* Returns -1 with its failure set where reading is to end. */
typedef int (*capture_handler)(void *context, const struct capture_packet *packet);

/* Hand every packet over, from the first on. A file or a packet that cannot be replayed is a
 * failure that names it.
 */
int capture_read(struct capture *capture, capture_handler handle, void *context,
		 struct failure *failure);

/* The flows of a capture, in the order of their first packets. */
struct capture_flows;

struct capture_flows *capture_flows_create(uint32_t capacity);
void capture_flows_destroy(struct capture_flows *f);

/* The 5-tuple of an IPv4 TCP or UDP frame that has one to read; a later fragment
 * has none.
 */
bool capture_flows_key(const uint8_t *frame, uint32_t bytes, struct flow_key *key);

/* Would P4 take it for a packet of its flow, by the rules of ingress.p4? Of the
 * frame's bytes only the first `captured` are there; the rest counts as zeros.
 */
bool capture_flows_is_sound(const uint8_t *frame, uint32_t captured, uint32_t bytes);

/* Add the flow of a frame, unless it is known in either direction. -ENOSPC: too many flows. */
int capture_flows_add(struct capture_flows *f, const struct flow_key *key);

/* Whether this is the reverse direction of a flow that came before it. */
bool capture_flows_is_reverse(const struct capture_flows *f, const struct flow_key *key);

uint32_t capture_flows_count(const struct capture_flows *f);
const struct flow_key *capture_flows_at(const struct capture_flows *f, uint32_t flow);

#endif
