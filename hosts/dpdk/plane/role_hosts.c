/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Beside a switch that is the bottleneck: delay line and collector. */
#include "dataplane.h"

static void
send_frame(void *context, enum hosts_wire wire, struct rte_mbuf *mbuf, uint32_t lane,
	   uint64_t departure_ns)
{
	enum wire_id id = wire == HOSTS_SENDERS ? WIRE_SENDERS : WIRE_SWITCH;

	dataplane_send(context, id, mbuf, lane, departure_ns);
}

static int
open_hosts(struct loop *loop, struct failure *failure)
{
	struct hosts_sink sink = {
		.frame = send_frame,
		.postcard = dataplane_postcard,
		.context = loop,
	};

	if (hosts_init(&loop->hosts, loop->dp->config.lanes, &loop->hold_ups, &sink) == 0)
		return 0;
	return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
}

static void
close_hosts(struct loop *loop)
{
	hosts_free(&loop->hosts);
}

static void
receive(struct loop *loop, enum wire_id id, struct rte_mbuf **mbufs, const uint64_t *arrivals_ns,
	uint32_t n)
{
	if (id == WIRE_TELEMETRY)
		hosts_receive_postcards(&loop->hosts, mbufs, n);
	else
		hosts_receive(&loop->hosts, id == WIRE_SENDERS ? HOSTS_SENDERS : HOSTS_SWITCH,
			      mbufs, arrivals_ns, n);
}

static void
advance(struct loop *loop, uint64_t now_ns)
{
	hosts_advance(&loop->hosts, now_ns);
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

static struct delays *
delays(struct loop *loop)
{
	return &loop->hosts.delays;
}

const struct role_ops role_hosts = {
	.open = open_hosts,
	.close = close_hosts,
	.receive = receive,
	.advance = advance,
	.next_event = next_event,
	.reset_lane = reset_lane,
	.begin_lane = begin_lane,
	.delays = delays,
};
