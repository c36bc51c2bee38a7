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
open_bottleneck(struct dataplane *dp, struct failure *failure)
{
	struct bottleneck_sink sink = {
		.frame = send_frame,
		.postcard = dataplane_postcard,
		.context = dp,
	};

	dp->pipeline = pipeline_create(dp->config.spec, dp->config.native_library, failure);
	if (dp->pipeline == NULL)
		return -1;
	if (bottleneck_init(&dp->bottleneck, dp->pipeline, dp->config.lanes,
			    dataplane_ingress_burst, &dp->hold_ups, &sink) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	dp->bottleneck.train.instant_ns = dataplane_train_instant_ns;
	return 0;
}

static void
close_bottleneck(struct dataplane *dp)
{
	bottleneck_free(&dp->bottleneck);
	pipeline_destroy(dp->pipeline);
}

static void
receive(struct dataplane *dp, enum wire_id id, struct rte_mbuf **mbufs, const uint64_t *arrivals_ns,
	uint32_t n)
{
	enum pipeline_port port = id == WIRE_SENDERS ? PIPELINE_SENDERS : PIPELINE_RECEIVERS;

	bottleneck_receive(&dp->bottleneck, port, mbufs, arrivals_ns, n);
}

static void
advance(struct dataplane *dp, uint64_t now_ns)
{
	bottleneck_advance(&dp->bottleneck, now_ns);
}

static uint64_t
next_event(const struct dataplane *dp)
{
	return bottleneck_next_event(&dp->bottleneck);
}

static void
reset_lane(struct dataplane *dp, uint32_t lane)
{
	bottleneck_reset_lane(&dp->bottleneck, lane);
}

static struct delays *
delays(struct dataplane *dp)
{
	return &dp->bottleneck.delays;
}

const struct role_ops role_bottleneck = {
	.gives_back = true,
	.open = open_bottleneck,
	.close = close_bottleneck,
	.receive = receive,
	.advance = advance,
	.next_event = next_event,
	.reset_lane = reset_lane,
	.delays = delays,
};
