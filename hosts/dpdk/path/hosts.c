/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "hosts.h"

#include <stdbool.h>
#include <string.h>

#include "core/postcard.h"

#define ETHERTYPE_OFFSET 12u

int
hosts_init(struct hosts *h, uint32_t n_lanes, struct hold_ups *hold_ups,
	   const struct hosts_sink *sink)
{
	memset(h, 0, sizeof(*h));
	h->sink = *sink;
	return delays_init(&h->delays, n_lanes, hold_ups);
}

void
hosts_free(struct hosts *h)
{
	delays_free(&h->delays);
}

void
hosts_receive(struct hosts *h, enum hosts_wire wire, struct rte_mbuf **mbufs,
	      const uint64_t *arrivals_ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mbufs[i]->port = (uint16_t)wire;
	delays_put(&h->delays, wire == HOSTS_SENDERS, mbufs, arrivals_ns, n);
}

static bool
is_known(uint8_t version)
{
	return version == POSTCARD_VERSION || version == POSTCARD_VERSION_QUEUES;
}

/* The postcard in a frame; NULL: there is none, or of another version. */
static const uint8_t *
find_postcard(const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	const uint8_t *postcard = frame + ETHERNET_BYTES;

	if (rte_pktmbuf_data_len(mbuf) < ETHERNET_BYTES + POSTCARD_BYTES ||
	    get_be(frame + ETHERTYPE_OFFSET, 2) != POSTCARD_ETHERTYPE ||
	    !is_known(postcard_version(postcard)) ||
	    rte_pktmbuf_data_len(mbuf) < ETHERNET_BYTES + postcard_size(postcard))
		return NULL;
	return postcard;
}

void
hosts_receive_postcards(struct hosts *h, struct rte_mbuf **mbufs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *bytes = find_postcard(mbufs[i]);
		uint32_t lane = bytes ? postcard_lane(bytes) : NO_LANE;

		if (lane < h->delays.n_lanes)
			h->sink.postcard(h->sink.context, lane, bytes);
		else
			h->bad_postcards++;
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

void
hosts_advance(struct hosts *h, uint64_t now_ns)
{
	struct delayed due[HOSTS_BURST];
	uint32_t n;

	while ((n = delays_take(&h->delays, due, HOSTS_BURST, now_ns)) > 0) {
		for (uint32_t i = 0; i < n; i++) {
			struct rte_mbuf *mbuf = due[i].handle;
			bool outbound = mbuf->port == HOSTS_SENDERS;

			h->sink.frame(h->sink.context, outbound ? HOSTS_SWITCH : HOSTS_SENDERS,
				      mbuf, delays_lane(&h->delays, due[i].path), due[i].due_ns);
		}
	}
}
