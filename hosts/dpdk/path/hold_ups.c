/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "hold_ups.h"

#include <errno.h>
#include <stdlib.h>

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

/* A TCP segment in a frame of the address plan. */
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

/* What a frame carries towards the receivers; no connection where nothing is to be acknowledged. */
static struct round_trip_data
carried_data(const uint8_t *frame, uint32_t bytes, uint32_t n_lanes)
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
	data.is_first = (tcp.flags & FLAG_SYN) != 0;
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

/* What a frame acknowledges towards the senders; no connection where it acknowledges nothing. Data
 * that takes the way back is no answer: its sender sends it when it may.
 */
static struct round_trip_ack
carried_ack(const uint8_t *frame, uint32_t bytes, uint32_t n_lanes)
{
	struct round_trip_ack ack = {0};
	struct tcp tcp;

	if (!find_tcp(frame, bytes, false, n_lanes, &tcp) || (tcp.flags & FLAG_ACK) == 0 ||
	    tcp.payload_bytes > 0)
		return ack;
	ack.connection = tcp.connection;
	ack.number = (uint32_t)get_be(tcp.header + 8, 4);
	find_block(&tcp, &ack);
	return ack;
}

int
hold_ups_init(struct hold_ups *h, uint32_t n_lanes, bool gives_back, uint64_t epoch_ns)
{
	*h = (struct hold_ups){.n_lanes = n_lanes, .gives_back = gives_back, .epoch_ns = epoch_ns};
	h->lanes = calloc(n_lanes, sizeof(*h->lanes));
	h->receivers_wait = calloc(n_lanes, sizeof(*h->receivers_wait));
	if (h->lanes == NULL || h->receivers_wait == NULL ||
	    round_trips_init(&h->round_trips) < 0) {
		free(h->receivers_wait);
		free(h->lanes);
		return -ENOMEM;
	}
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		disturbance_init(&h->lanes[lane], epoch_ns);
	return 0;
}

void
hold_ups_free(struct hold_ups *h)
{
	for (uint32_t lane = 0; lane < h->n_lanes; lane++)
		disturbance_clear(&h->lanes[lane]);
	free(h->receivers_wait);
	free(h->lanes);
	round_trips_free(&h->round_trips);
	*h = (struct hold_ups){0};
}

void
hold_ups_configure_lane(struct hold_ups *h, uint32_t lane, bool receivers_wait)
{
	h->receivers_wait[lane] = receivers_wait;
}

void
hold_ups_clear_lane(struct hold_ups *h, uint32_t lane)
{
	disturbance_clear(&h->lanes[lane]);
}

void
hold_ups_came(struct hold_ups *h, const struct rte_mbuf *mbuf)
{
	struct round_trip_data data;

	if (!h->gives_back)
		return;
	data = carried_data(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf),
			    h->n_lanes);
	round_trips_sent(&h->round_trips, &data);
}

struct frame_note
hold_ups_note(const struct hold_ups *h, const struct rte_mbuf *mbuf, bool to_senders, uint32_t lane,
	      uint64_t departure_ns)
{
	struct frame_note note = {.lane = lane, .departure_ns = departure_ns};

	if (h->gives_back && !to_senders && lane != NO_LANE) {
		note.data = carried_data(rte_pktmbuf_mtod(mbuf, const uint8_t *),
					 rte_pktmbuf_data_len(mbuf), h->n_lanes);
		round_trips_expect(&h->round_trips, &note.data);
	}
	return note;
}

void
hold_ups_sent(struct hold_ups *h, const struct frame_note *note, bool to_senders, uint64_t now_ns)
{
	uint64_t late_ns = now_ns > note->departure_ns ? now_ns - note->departure_ns : 0;

	if (to_senders) {
		disturbance_returned(&h->lanes[note->lane], now_ns, late_ns);
		return;
	}
	disturbance_departed(&h->lanes[note->lane], now_ns, late_ns);
	round_trips_departed(&h->round_trips, &note->data, note->departure_ns, now_ns);
}

uint64_t
hold_ups_give_back(struct hold_ups *h, const struct rte_mbuf *mbuf, uint32_t lane,
		   uint64_t arrival_ns)
{
	struct round_trip_cause cause;
	struct round_trip_ack ack;

	if (!h->gives_back)
		return 0;
	ack = carried_ack(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf),
			  h->n_lanes);
	ack.receiver_waits = h->receivers_wait[lane];
	cause = round_trips_cause(&h->round_trips, &ack, arrival_ns);
	if (cause.has_response)
		disturbance_answered(&h->lanes[lane], arrival_ns, cause.response_ns);
	return cause.late_ns;
}

void
hold_ups_paused(struct hold_ups *h, uint64_t from_ns, uint64_t length_ns)
{
	for (uint32_t lane = 0; lane < h->n_lanes; lane++)
		if (lane_share_has(&h->share, lane))
			disturbance_paused(&h->lanes[lane], from_ns, length_ns);
}
