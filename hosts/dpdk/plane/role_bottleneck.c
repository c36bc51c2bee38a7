/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The embedded target: the data plane is the bottleneck. */
#include "dataplane.h"

static void
send_frame(void *context, enum pipeline_port port, struct rte_mbuf *mbuf, uint32_t lane,
	   uint64_t departure_ns)
{
	enum wire_id id = port == PIPELINE_SENDERS ? WIRE_SENDERS : WIRE_RECEIVERS;

	dataplane_send(context, id, mbuf, lane, departure_ns);
}

static int
open_bottleneck(struct loop *loop, struct failure *failure)
{
	struct bottleneck_sink sink = {
		.frame = send_frame,
		.postcard = dataplane_postcard,
		.context = loop,
	};

	loop->pipeline =
		pipeline_create(loop->dp->config.spec, loop->dp->config.native_library, failure);
	if (loop->pipeline == NULL)
		return -1;
	if (bottleneck_init(&loop->bottleneck, loop->pipeline, loop->dp->config.lanes,
			    dataplane_ingress_burst, &loop->hold_ups, &sink) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	loop->delays = &loop->bottleneck.delays;
	loop->bottleneck.train.instant_ns = dataplane_train_instant_ns;
	return 0;
}

static void
close_bottleneck(struct loop *loop)
{
	bottleneck_free(&loop->bottleneck);
	pipeline_destroy(loop->pipeline);
}

static void
receive(struct loop *loop, enum wire_id id, struct rte_mbuf **mbufs, const uint64_t *arrivals_ns,
	uint32_t n)
{
	enum pipeline_port port = id == WIRE_SENDERS ? PIPELINE_SENDERS : PIPELINE_RECEIVERS;

	bottleneck_receive(&loop->bottleneck, port, mbufs, arrivals_ns, n);
}

static void
advance(struct loop *loop, uint64_t now_ns)
{
	bottleneck_advance(&loop->bottleneck, now_ns);
}

static uint64_t
next_event(const struct loop *loop)
{
	return bottleneck_next_event(&loop->bottleneck);
}

static void
reset_lane(struct loop *loop, uint32_t lane)
{
	bottleneck_reset_lane(&loop->bottleneck, lane);
}

static void
begin_lane(struct loop *loop, uint32_t lane, uint64_t t0_ns)
{
	bottleneck_begin_lane(&loop->bottleneck, lane, t0_ns);
}

const struct role_ops role_bottleneck = {
	.gives_back = true,
	.open = open_bottleneck,
	.close = close_bottleneck,
	.receive = receive,
	.advance = advance,
	.next_event = next_event,
	.reset_lane = reset_lane,
	.begin_lane = begin_lane,
};
