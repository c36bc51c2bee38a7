/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Beside a switch that is the bottleneck: frames from the senders through the delay line to the
 * switch, frames from the switch back through it to the senders, and the switch's postcards off a
 * wire.
 */
#include "core/postcard.h"
#include "dataplane.h"

#define BURST 64u
#define ETHERTYPE_OFFSET 12u

static int
open_hosts(struct loop *loop, struct failure *failure)
{
	loop->delays = &loop->hosts.delays;
	if (delays_init(&loop->hosts.delays, loop->dp->config.lanes, &loop->hold_ups) == 0)
		return 0;
	return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
}

static void
close_hosts(struct loop *loop)
{
	delays_free(&loop->hosts.delays);
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

/* p4src/README.md has their layout. */
static void
receive_postcards(struct loop *loop, struct rte_mbuf **mbufs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *bytes = find_postcard(mbufs[i]);
		uint32_t lane = bytes ? postcard_lane(bytes) : NO_LANE;

		if (lane < loop->dp->config.lanes)
			dataplane_postcard(loop, lane, bytes);
		else
			loop->hosts.bad_postcards++;
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void
receive(struct loop *loop, enum wire_id id, struct rte_mbuf **mbufs, const uint64_t *arrivals_ns,
	uint32_t n)
{
	if (id == WIRE_TELEMETRY) {
		receive_postcards(loop, mbufs, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		mbufs[i]->port = (uint16_t)id;
	delays_put(&loop->hosts.delays, id == WIRE_SENDERS, mbufs, arrivals_ns, n);
}

static void
advance(struct loop *loop, uint64_t now_ns)
{
	struct delays *delays = &loop->hosts.delays;
	struct delayed due[BURST];
	uint32_t n;

	while ((n = delays_take(delays, due, BURST, now_ns)) > 0) {
		for (uint32_t i = 0; i < n; i++) {
			struct rte_mbuf *mbuf = due[i].handle;
			enum wire_id to = mbuf->port == WIRE_SENDERS ? WIRE_SWITCH : WIRE_SENDERS;

			dataplane_send(loop, to, mbuf, delays_lane(delays, due[i].path),
				       due[i].due_ns);
		}
	}
}

static uint64_t
next_event(const struct loop *loop)
{
	return delays_next_event(&loop->hosts.delays);
}

static void
reset_lane(struct loop *loop, uint32_t lane)
{
	delays_clear_lane(&loop->hosts.delays, lane);
}

static void
begin_lane(struct loop *loop, uint32_t lane, uint64_t t0_ns)
{
	delays_begin(&loop->hosts.delays, lane, t0_ns);
}

const struct role_ops role_hosts = {
	.open = open_hosts,
	.close = close_hosts,
	.receive = receive,
	.advance = advance,
	.next_event = next_event,
	.reset_lane = reset_lane,
	.begin_lane = begin_lane,
};
