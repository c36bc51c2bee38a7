/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "segments.h"

#include "addresses.h"

#define IP_TOTAL_LENGTH_OFFSET (ETHERNET_BYTES + 2u)
#define IP_PROTOCOL_OFFSET (ETHERNET_BYTES + 9u)
#define PROTOCOL_TCP 6u
#define TCP_LEAST_BYTES 20u
#define WORD_BYTES 4u

#define FLAG_FIN 0x01u
#define FLAG_SYN 0x02u
#define FLAG_ACK 0x10u

/* RFC 9293, section 3.1; RFC 2018, section 3 */
#define OPTION_END 0u
#define OPTION_NOTHING 1u
#define OPTION_SACK 5u
#define SACK_ONE_BLOCK_BYTES 10u

struct tcp {
	const uint8_t *header;
	uint32_t header_bytes;
	uint32_t payload_bytes;
	uint32_t connection;
	uint8_t flags;
};

/* Unique among the lanes and never 0: source ports are not 0. */
static uint32_t
connection_of(uint32_t lane, uint32_t group, uint32_t sender_port)
{
	return (lane * GROUPS_PER_LANE + group) << 16 | sender_port;
}

static bool
find_tcp(const uint8_t *frame, uint32_t bytes, bool from_senders, uint32_t n_lanes, struct tcp *tcp)
{
	uint32_t lane, group, ip_bytes, total;

	if (!addresses_group(frame, bytes, from_senders, n_lanes, &lane, &group) ||
	    frame[IP_PROTOCOL_OFFSET] != PROTOCOL_TCP)
		return false;
	ip_bytes = (frame[ETHERNET_BYTES] & 0xfu) * WORD_BYTES;
	total = (uint32_t)get_be(frame + IP_TOTAL_LENGTH_OFFSET, 2);
	if (ETHERNET_BYTES + total > bytes || total < ip_bytes + TCP_LEAST_BYTES)
		return false;
	tcp->header = frame + ETHERNET_BYTES + ip_bytes;
	tcp->header_bytes = (tcp->header[12] >> 4) * WORD_BYTES;
	if (tcp->header_bytes < TCP_LEAST_BYTES || ip_bytes + tcp->header_bytes > total)
		return false;
	tcp->payload_bytes = total - ip_bytes - tcp->header_bytes;
	tcp->flags = tcp->header[13];
	tcp->connection = connection_of(lane, group,
					(uint32_t)get_be(tcp->header + (from_senders ? 0 : 2), 2));
	return true;
}

struct round_trip_data
segments_data(const uint8_t *frame, uint32_t bytes, uint32_t n_lanes)
{
	struct round_trip_data data = {0};
	struct tcp tcp;

	if (!find_tcp(frame, bytes, true, n_lanes, &tcp))
		return data;
	data.bytes =
		tcp.payload_bytes + ((tcp.flags & FLAG_SYN) != 0) + ((tcp.flags & FLAG_FIN) != 0);
	if (data.bytes == 0)
		return data;
	data.connection = tcp.connection;
	data.end = (uint32_t)get_be(tcp.header + 4, 4) + data.bytes;
	return data;
}

/* The end of the first SACK block. */
static void
find_block(const struct tcp *tcp, struct round_trip_ack *ack)
{
	uint32_t at = TCP_LEAST_BYTES;

	while (at < tcp->header_bytes && tcp->header[at] != OPTION_END) {
		const uint8_t *option = tcp->header + at;
		uint32_t left = tcp->header_bytes - at;

		if (option[0] == OPTION_NOTHING) {
			at++;
			continue;
		}
		if (left < 2 || option[1] < 2 || option[1] > left)
			return;
		if (option[0] == OPTION_SACK && option[1] >= SACK_ONE_BLOCK_BYTES) {
			ack->has_block = true;
			ack->block_end = (uint32_t)get_be(option + 6, 4);
			return;
		}
		at += option[1];
	}
}

struct round_trip_ack
segments_ack(const uint8_t *frame, uint32_t bytes, uint32_t n_lanes)
{
	struct round_trip_ack ack = {0};
	struct tcp tcp;

	if (!find_tcp(frame, bytes, false, n_lanes, &tcp) || (tcp.flags & FLAG_ACK) == 0)
		return ack;
	ack.connection = tcp.connection;
	ack.number = (uint32_t)get_be(tcp.header + 8, 4);
	find_block(&tcp, &ack);
	return ack;
}
