/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include "dpdk/core/prng.h"

#define NS_PER_S UINT64_C(1000000000)
#define START_SPREAD_NS (NS_PER_S / 2) /* flows start at random times of the first half second */
#define MILLION 1000000

/* Each flow has four things that can happen next. */
enum source {
	SOURCE_START,
	SOURCE_ACK,
	SOURCE_PACING,
	SOURCE_TIMEOUT,
	SOURCES,
};

int
network_init(struct sim_network *network, const struct sim_path *path, u64 seed,
	     struct sim_flow **flows, u32 count)
{
	*network = (struct sim_network){
		.path = *path, .flows = flows, .flow_count = count, .prng = seed};
	for (u32 i = 0; i < count; i++)
		flows[i]->tp.has_ecn =
			path->mark_bytes && (flows[i]->ops->flags & TCP_CONG_NEEDS_ECN);
	if (event_heap_init(&network->events, count * SOURCES) < 0)
		return -1;
	for (u32 i = 0; i < count; i++)
		event_heap_set(&network->events, i * SOURCES + SOURCE_START,
			       count == 1 ? 0 : prng_next(&network->prng) % START_SPREAD_NS);
	return 0;
}

void
network_free(struct sim_network *network)
{
	event_heap_free(&network->events);
}

static u64
serialisation_ns(const struct sim_network *network)
{
	return SIM_FRAME_BYTES * 8 * NS_PER_S / network->path.rate_bps;
}

/* Whole frames: one that is being sent is in the queue until it has left. */
u64
network_queue_bytes(const struct sim_network *network)
{
	u64 frame_ns = serialisation_ns(network);

	if (network->idle_from_ns <= network->now_ns)
		return 0;
	return (network->idle_from_ns - network->now_ns + frame_ns - 1) / frame_ns *
	       SIM_FRAME_BYTES;
}

static void
count_departure(struct sim_network *network, u64 queue_bytes)
{
	network->departed_bytes += SIM_FRAME_BYTES;
	/* The time that a frame takes to leave is a slice of the time that the link is busy. */
	network->queue_integral += (double)queue_bytes * (double)serialisation_ns(network);
}

static void
transmit(void *context, struct sim_flow *flow, u32 sequence)
{
	struct sim_network *network = context;
	u64 queue_bytes = network_queue_bytes(network);
	struct sim_acks *acks = &flow->acks;
	struct sim_ack *ack = &acks->ack[acks->tail % SIM_WINDOW];

	if (network->path.loss_ppm && prng_next(&network->prng) % MILLION < network->path.loss_ppm)
		return;
	if (queue_bytes + SIM_FRAME_BYTES > network->path.buffer_bytes) {
		network->drops++;
		return;
	}
	ack->ce = flow->tp.has_ecn && queue_bytes > network->path.mark_bytes;
	network->marks += ack->ce;
	network->idle_from_ns =
		max(network->idle_from_ns, network->now_ns) + serialisation_ns(network);
	count_departure(network, queue_bytes + SIM_FRAME_BYTES);
	ack->at_ns = network->idle_from_ns + network->path.rtt_ns;
	ack->sequence = sequence;
	/* Frames arrive in the order in which they leave: the receiver's answer is known now. */
	ack->cumulative = flow_receive(flow, sequence);
	acks->tail++;
}

static void
schedule(struct sim_network *network, u32 number)
{
	const struct sim_flow *flow = network->flows[number];
	const struct sim_acks *acks = &flow->acks;
	u32 first = number * SOURCES;

	event_heap_set(&network->events, first + SOURCE_ACK,
		       acks->head == acks->tail ? EVENT_NEVER :
						  acks->ack[acks->head % SIM_WINDOW].at_ns);
	event_heap_set(&network->events, first + SOURCE_PACING,
		       flow_next_send_ns(flow, network->now_ns));
	event_heap_set(&network->events, first + SOURCE_TIMEOUT, flow_timeout_ns(flow));
}

static void
happen(struct sim_network *network, u32 source)
{
	struct sim_flow *flow = network->flows[source / SOURCES];
	struct sim_acks *acks = &flow->acks;

	switch (source % SOURCES) {
	case SOURCE_START:
		event_heap_set(&network->events, source, EVENT_NEVER);
		flow_start(flow, network->now_ns);
		break;
	case SOURCE_ACK:
		flow_acknowledge(flow, network->now_ns, &acks->ack[acks->head++ % SIM_WINDOW]);
		break;
	case SOURCE_TIMEOUT:
		flow_time_out(flow, network->now_ns);
		break;
	default: /* pacing: it may send */
		break;
	}
	flow_send(flow, network->now_ns, transmit, network);
	schedule(network, source / SOURCES);
}

void
network_run(struct sim_network *network, u64 until_ns)
{
	while (event_heap_next_ns(&network->events) < until_ns) {
		network->now_ns = event_heap_next_ns(&network->events);
		happen(network, event_heap_next_source(&network->events));
	}
	network->now_ns = until_ns;
}

void
network_forget(struct sim_network *network)
{
	network->drops = 0;
	network->marks = 0;
	network->departed_bytes = 0;
	network->queue_integral = 0;
	network->measured_from_ns = network->now_ns;
	for (u32 i = 0; i < network->flow_count; i++)
		flow_forget(network->flows[i]);
}
