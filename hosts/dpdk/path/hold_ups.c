/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "hold_ups.h"

#include <errno.h>
#include <stdlib.h>

#include "segments.h"

int
hold_ups_init(struct hold_ups *h, uint32_t n_lanes, bool gives_back, uint64_t epoch_ns)
{
	*h = (struct hold_ups){.n_lanes = n_lanes, .gives_back = gives_back};
	h->lanes = calloc(n_lanes, sizeof(*h->lanes));
	if (h->lanes == NULL || round_trips_init(&h->round_trips) < 0) {
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
	free(h->lanes);
	round_trips_free(&h->round_trips);
	*h = (struct hold_ups){0};
}

void
hold_ups_clear_lane(struct hold_ups *h, uint32_t lane)
{
	disturbance_clear(&h->lanes[lane]);
}

struct frame_note
hold_ups_note(const struct hold_ups *h, const struct rte_mbuf *mbuf, bool to_senders, uint32_t lane,
	      uint64_t departure_ns)
{
	struct frame_note note = {.lane = lane, .departure_ns = departure_ns};

	if (h->gives_back && !to_senders && lane != NO_LANE) {
		note.data = segments_data(rte_pktmbuf_mtod(mbuf, const uint8_t *),
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
	ack = segments_ack(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf),
			   h->n_lanes);
	cause = round_trips_cause(&h->round_trips, &ack, arrival_ns);
	if (cause.has_response)
		disturbance_answered(&h->lanes[lane], arrival_ns, cause.response_ns);
	return cause.late_ns;
}

void
hold_ups_paused(struct hold_ups *h, uint64_t from_ns, uint64_t length_ns)
{
	for (uint32_t lane = 0; lane < h->n_lanes; lane++)
		disturbance_paused(&h->lanes[lane], from_ns, length_ns);
}
