/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include <string.h>

#include "common/big_endian.h"
#include "common/shared.h"

#define TYPE_OFFSET 12u
#define TAG_BYTES 4u
#define SHORTEST_FRAME                                                                             \
	60u /* Ethernet's minimum without FCS; tags may be put in behind its padding */

#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu

#define IPV4_BYTES 20u
#define IPV4_FRAGMENT_MASK 0x1fffu
#define IPV6_BYTES 40u
#define IPV6_FRAGMENT_MASK 0xfff8u
#define IPV6_ECN_SHIFT 4
#define EXTENSION_BYTES 8u

#define TCP_BYTES 20u
#define TCP_DATA_OFFSET 12u
#define UDP_BYTES 8u
#define PORTS_BYTES 4u

#define ECN_MASK 0x03u

/* A frame as far as it has been looked at. */
struct view {
	const uint8_t *data;
	uint32_t captured;
	uint32_t bytes;
	uint32_t tags;
	uint32_t end; /* of the IP packet by its own length */
	struct frame frame;
};

static bool
refuse(struct view *v, enum frame_reason reason)
{
	v->frame.reason = reason;
	return false;
}

/* Whether the bytes up to there were captured. */
static bool
reaches(struct view *v, uint32_t end)
{
	if (end <= v->captured)
		return true;
	return refuse(v, end <= v->bytes ? FRAME_CUT_SHORT : FRAME_MALFORMED);
}

static bool
is_tag(uint32_t type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/* The EtherType behind all tags. */
static bool
look_at_link(struct view *v, uint32_t *type)
{
	uint32_t at = TYPE_OFFSET;

	if (!reaches(v, ETHERNET_BYTES))
		return false;
	while (is_tag(*type = (uint32_t)get_be(v->data + at, 2))) {
		at += TAG_BYTES;
		v->tags++;
		if (!reaches(v, at + 2))
			return false;
	}
	v->frame.ip = at + 2;
	return true;
}

static bool
look_at_ipv4(struct view *v)
{
	const uint8_t *ip = v->data + v->frame.ip;
	struct flow_tuple *tuple = &v->frame.tuple;
	uint32_t header_bytes;

	if (!reaches(v, v->frame.ip + IPV4_BYTES))
		return false;
	header_bytes = 4u * (ip[0] & 0xf);
	if (ip[0] >> 4 != 4 || header_bytes < IPV4_BYTES)
		return refuse(v, FRAME_MALFORMED);
	tuple->version = 4;
	tuple->protocol = ip[9];
	memcpy(tuple->src, ip + 12, 4);
	memcpy(tuple->dst, ip + 16, 4);
	v->frame.ecn = ip[1] & ECN_MASK;
	v->frame.l4 = v->frame.ip + header_bytes;
	v->end = v->frame.ip + (uint32_t)get_be(ip + 2, 2);
	if (get_be(ip + 6, 2) & IPV4_FRAGMENT_MASK)
		return refuse(v, FRAME_LATER_FRAGMENT);
	return true;
}

enum extension {
	HOP_BY_HOP = 0,
	ROUTING = 43,
	FRAGMENT = 44,
	AUTHENTICATION = 51,
	DESTINATION = 60,
	MOBILITY = 135,
	HOST_IDENTITY = 139,
	SHIM6 = 140,
};

static bool
is_extension(uint32_t next)
{
	return next == HOP_BY_HOP || next == ROUTING || next == FRAGMENT ||
	       next == AUTHENTICATION || next == DESTINATION || next == MOBILITY ||
	       next == HOST_IDENTITY || next == SHIM6;
}

static uint32_t
extension_bytes(uint32_t kind, const uint8_t *header)
{
	if (kind == FRAGMENT)
		return EXTENSION_BYTES;
	return kind == AUTHENTICATION ? 4u * (header[1] + 2u) : 8u * (header[1] + 1u);
}

static bool
skip_extensions(struct view *v)
{
	struct frame *f = &v->frame;

	while (is_extension(f->tuple.protocol)) {
		const uint8_t *header = v->data + f->l4;
		uint32_t kind = f->tuple.protocol;

		if (!reaches(v, f->l4 + EXTENSION_BYTES))
			return false;
		if (kind == FRAGMENT && get_be(header + 2, 2) & IPV6_FRAGMENT_MASK)
			return refuse(v, FRAME_LATER_FRAGMENT);
		f->tuple.protocol = header[0];
		f->l4 += extension_bytes(kind, header);
	}
	return true;
}

static bool
look_at_ipv6(struct view *v)
{
	const uint8_t *ip = v->data + v->frame.ip;
	struct flow_tuple *tuple = &v->frame.tuple;

	if (!reaches(v, v->frame.ip + IPV6_BYTES))
		return false;
	if (ip[0] >> 4 != 6)
		return refuse(v, FRAME_MALFORMED);
	tuple->version = 6;
	tuple->protocol = ip[6];
	memcpy(tuple->src, ip + 8, IP_ADDRESS_BYTES);
	memcpy(tuple->dst, ip + 24, IP_ADDRESS_BYTES);
	v->frame.ecn = ip[1] >> IPV6_ECN_SHIFT & ECN_MASK;
	v->frame.l4 = v->frame.ip + IPV6_BYTES;
	v->end = v->frame.l4 + (uint32_t)get_be(ip + 4, 2);
	return skip_extensions(v);
}

static bool
look_at_l4(struct view *v)
{
	struct frame *f = &v->frame;
	bool is_tcp = f->tuple.protocol == PROTO_TCP;
	uint32_t minimum = is_tcp ? TCP_BYTES : UDP_BYTES;
	const uint8_t *l4 = v->data + f->l4;

	if (!is_tcp && f->tuple.protocol != PROTO_UDP)
		return refuse(v, FRAME_OTHER_PROTOCOL);
	if (!reaches(v, f->l4 + (is_tcp ? TCP_DATA_OFFSET + 1 : PORTS_BYTES)))
		return false;
	f->tuple.sport = (uint16_t)get_be(l4, 2);
	f->tuple.dport = (uint16_t)get_be(l4 + 2, 2);
	f->l4_header_bytes = is_tcp ? 4u * (l4[TCP_DATA_OFFSET] >> 4) : UDP_BYTES;
	if (f->l4_header_bytes < minimum || v->end < f->l4 + f->l4_header_bytes ||
	    v->bytes < v->end)
		return refuse(v, FRAME_MALFORMED);
	f->payload_bytes = v->end - f->l4 - f->l4_header_bytes;
	return true;
}

/* What follows the IP packet beyond Ethernet's padding was put there behind the sender. */
static uint32_t
without_trailer(const struct view *v)
{
	uint32_t padded = SHORTEST_FRAME + TAG_BYTES * v->tags;
	uint32_t sent = v->end > padded ? v->end : padded;

	return v->bytes < sent ? v->bytes : sent;
}

struct frame
frame_look(const uint8_t *data, uint32_t captured, uint32_t bytes)
{
	struct view v = {
		.data = data,
		.captured = captured,
		.bytes = bytes,
		.frame = {.reason = FRAME_LOOKED_AT, .bytes = bytes},
	};
	uint32_t type;

	if (!look_at_link(&v, &type))
		return v.frame;
	if (type != TYPE_IPV4 && type != TYPE_IPV6)
		refuse(&v, FRAME_NOT_IP);
	else if ((type == TYPE_IPV4 ? look_at_ipv4(&v) : look_at_ipv6(&v)) && look_at_l4(&v))
		v.frame.bytes = without_trailer(&v);
	return v.frame;
}

void
frame_set_ce(const struct frame *frame, uint8_t *data)
{
	uint8_t *ip = data + frame->ip;
	uint32_t sum;

	if (frame->tuple.version == 6) {
		ip[1] |= ECN_MASK << IPV6_ECN_SHIFT;
		return;
	}
	/* RFC 1624, equation 3. */
	sum = (~(uint32_t)get_be(ip + 10, 2) & 0xffff) + ECN_MASK - frame->ecn;
	put_be(ip + 10, 2, ~((sum & 0xffff) + (sum >> 16)) & 0xffff);
	ip[1] |= ECN_MASK;
}
