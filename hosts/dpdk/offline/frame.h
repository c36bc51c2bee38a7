/* SPDX-License-Identifier: Apache-2.0 */
/* What a captured Ethernet frame is: behind VLAN tags, IPv4's options and IPv6's extension
 * headers, TCP or UDP of a flow; or why it is not looked at.
 */
#ifndef NASHBED_FRAME_H
#define NASHBED_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define PROTO_TCP 6
#define PROTO_UDP 17
#define IP_ADDRESS_BYTES 16

/* Why a frame is not looked at, and what it is called in a summary. */
#define FRAME_REASONS(REASON)                                                                      \
	REASON(NOT_IP, "not_ip")                                                                   \
	REASON(OTHER_PROTOCOL, "other_protocol")                                                   \
	REASON(LATER_FRAGMENT, "later_fragment")                                                   \
	REASON(MALFORMED, "malformed")                                                             \
	REASON(CUT_SHORT, "cut_short")

#define FRAME_REASON(identifier, name) FRAME_##identifier,
enum frame_reason {
	FRAME_REASONS(FRAME_REASON) N_FRAME_REASONS,
	FRAME_LOOKED_AT = N_FRAME_REASONS
};

/* The key of a hash table: no padding that could differ. */
struct flow_tuple {
	uint8_t src[IP_ADDRESS_BYTES]; /* IPv4's in the first 4 bytes, the others 0 */
	uint8_t dst[IP_ADDRESS_BYTES];
	uint16_t sport;
	uint16_t dport;
	uint16_t protocol;
	uint16_t version; /* 4 or 6 */
};

struct frame {
	enum frame_reason reason;
	uint32_t bytes; /* on the wire as it was sent: with its padding, but without a trailer */
	struct flow_tuple tuple; /* as far as it was read */
	/* Only of what is looked at: */
	uint32_t ip; /* where the IP header is, and the TCP or UDP header */
	uint32_t l4;
	uint32_t l4_header_bytes;
	uint32_t payload_bytes;
	uint8_t ecn;
};

/* Only the first `captured` of the frame's bytes are there. */
struct frame frame_look(const uint8_t *data, uint32_t captured, uint32_t bytes);

/* Set CE in the IP header of an ECN-capable packet. */
void frame_set_ce(const struct frame *frame, uint8_t *data);

#endif
