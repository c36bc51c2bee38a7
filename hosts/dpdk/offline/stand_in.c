/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

#include <string.h>

#include "common/big_endian.h"
#include "path/addresses.h"

#define TCP_BYTES 20u
#define UDP_BYTES 8u
#define IPV4_BYTES (IPV4_END_OFFSET - ETHERNET_BYTES)
#define TOS_OFFSET (ETHERNET_BYTES + 1u)
#define TOTAL_BYTES_OFFSET (ETHERNET_BYTES + 2u)
#define PROTOCOL_OFFSET (ETHERNET_BYTES + 9u)
#define DPORT_OFFSET (IPV4_END_OFFSET + 2u)
#define LONGEST (IPV4_END_OFFSET + TCP_BYTES)

/* No frame that is not looked at has it where P4 looks: such a frame is cut before it. */
#define STAND_IN_PORT 0xffffu
#define ECN_CE 0x03u

/* At the start of the buffer's headroom, which P4's own headers leave free. */
struct set_aside {
	uint16_t captured;
	uint16_t bytes; /* of `start`; 0: nothing stands in */
	uint8_t start[LONGEST];
};

static_assert(sizeof(struct set_aside) + POSTCARD_BYTES_MAX <= RTE_PKTMBUF_HEADROOM,
	      "the headroom holds what is set aside, and a postcard");
static_assert(sizeof(struct set_aside) + INTRINSIC_BYTES + BRIDGE_BYTES <= RTE_PKTMBUF_HEADROOM,
	      "the headroom holds what is set aside, and the headers of both passes");

struct flow_key
stand_in_key(uint32_t flow, const struct flow_tuple *tuple)
{
	return (struct flow_key){
		.src = flow,
		.dport = STAND_IN_PORT,
		.protocol = (uint8_t)tuple->protocol,
	};
}

struct rte_mbuf *
stand_in_none(const struct capture_packet *packet, struct rte_mempool *pool)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint32_t bytes = packet->look.bytes;
	uint8_t *data = mbuf ? (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)bytes) : NULL;
	struct set_aside *aside;

	if (data == NULL) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	/* Of a capture that was cut short only the length is whole. */
	memcpy(data, packet->frame, packet->captured);
	memset(data + packet->captured, 0, bytes - packet->captured);
	aside = mbuf->buf_addr;
	aside->captured = (uint16_t)packet->captured;
	aside->bytes = 0;
	return mbuf;
}

static void
write_headers(uint8_t *data, const struct frame *look, uint32_t flow, const uint8_t *l4,
	      uint32_t l4_bytes)
{
	const struct flow_key key = stand_in_key(flow, &look->tuple);

	memset(data, 0, IPV4_END_OFFSET);
	put_be(data + 12, 2, 0x0800);
	data[ETHERNET_BYTES] = 0x45;
	data[TOS_OFFSET] = look->ecn;
	put_be(data + TOTAL_BYTES_OFFSET, 2,
	       IPV4_BYTES + look->l4_header_bytes + look->payload_bytes);
	data[PROTOCOL_OFFSET] = key.protocol;
	put_be(data + IPV4_SRC_OFFSET, 4, key.src);
	put_be(data + IPV4_DST_OFFSET, 4, key.dst);
	memcpy(data + IPV4_END_OFFSET, l4, l4_bytes);
	put_be(data + IPV4_END_OFFSET, 2, key.sport);
	put_be(data + DPORT_OFFSET, 2, key.dport);
}

struct rte_mbuf *
stand_in_make(const struct capture_packet *packet, uint32_t flow, struct rte_mempool *pool)
{
	struct rte_mbuf *mbuf = stand_in_none(packet, pool);
	const struct frame *look = &packet->look;
	uint32_t l4_bytes = look->tuple.protocol == PROTO_TCP ? TCP_BYTES : UDP_BYTES;
	struct set_aside *aside;
	uint8_t l4[TCP_BYTES], *data;

	if (mbuf == NULL)
		return NULL;
	data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	aside = mbuf->buf_addr;
	aside->bytes = (uint16_t)(IPV4_END_OFFSET + l4_bytes);
	memcpy(aside->start, data, aside->bytes);
	memcpy(l4, data + look->l4, l4_bytes);
	write_headers(data, look, flow, l4, l4_bytes);
	return mbuf;
}

bool
stand_in_undo(struct rte_mbuf *mbuf, uint32_t *captured)
{
	const struct set_aside *aside = mbuf->buf_addr;
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	bool is_ce = data[TOS_OFFSET] == ECN_CE;

	*captured = aside->captured;
	if (aside->bytes == 0)
		return false;
	memcpy(data, aside->start, aside->bytes);
	if (is_ce) {
		struct frame look = frame_look(data, aside->captured, mbuf->pkt_len);

		if (look.ecn != ECN_CE)
			frame_set_ce(&look, data);
	}
	return true;
}
