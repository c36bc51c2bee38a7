/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "bottleneck.h"

#include <errno.h>
#include <string.h>

#include <rte_prefetch.h>

/* Packets between prefetching one and using it. */
#define PREFETCH_AHEAD 4u

#define ECN_BITS 0x03u /* of the ToS byte */

int
bottleneck_init(struct bottleneck *b, struct pipeline *pipeline, uint32_t n_lanes,
		uint32_t ingress_burst, struct hold_ups *hold_ups,
		const struct bottleneck_sink *sink)
{
	int error;

	memset(b, 0, sizeof(*b));
	b->pipeline = pipeline;
	b->n_lanes = n_lanes;
	b->ingress_burst = RTE_MIN(ingress_burst, PIPELINE_BURST);
	b->sink = *sink;
	error = traffic_manager_init(&b->tm, n_lanes);
	if (error)
		return error;
	error = return_queues_init(&b->returns, n_lanes, hold_ups ? hold_ups->epoch_ns : 0);
	if (!error)
		error = delays_init(&b->delays, n_lanes, hold_ups);
	if (error) {
		return_queues_free(&b->returns);
		traffic_manager_free(&b->tm);
	}
	return error;
}

static void
discard_queue(struct bottleneck *b, struct traffic_manager *tm, uint32_t lane)
{
	struct queue_packet packet;

	while (traffic_manager_discard(tm, lane, &packet)) {
		rte_pktmbuf_free(packet.handle);
		b->drops.discarded++;
	}
}

void
bottleneck_free(struct bottleneck *b)
{
	for (uint32_t lane = 0; lane < b->n_lanes; lane++) {
		discard_queue(b, &b->tm, lane);
		discard_queue(b, &b->returns.tm, lane);
	}
	delays_free(&b->delays);
	return_queues_free(&b->returns);
	traffic_manager_free(&b->tm);
}

void
bottleneck_receive(struct bottleneck *b, enum pipeline_port wire, struct rte_mbuf **mbufs,
		   const uint64_t *arrivals_ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mbufs[i]->port = (uint16_t)wire;
	delays_put(&b->delays, wire == PIPELINE_SENDERS, mbufs, arrivals_ns, n);
}

/* The postcard's. */
static uint8_t
marks_of(enum pass pass, const struct queue_packet *q)
{
	uint8_t marks = q->ecn ? MARK_CAPABLE : 0;

	if (pass == PASS_MARKED)
		return marks | MARK_CE;
	return pass == PASS_DROPPED ? marks | q->reason : marks;
}

/* The intrinsic header's: that a lane has several queues, and which is the packet's. */
static uint8_t
queues_of(const struct bottleneck *b, const struct queue_packet *q)
{
	return traffic_manager_has_queues(&b->tm, q->lane) ? (uint8_t)(1 + q->queue) : 0;
}

/* Put the intrinsic header in front. False without headroom: the packet is dropped. */
static bool
put_intrinsic(struct bottleneck *b, struct rte_mbuf *mbuf, enum pass pass, uint8_t queues,
	      const struct queue_packet *q)
{
	uint8_t *header = (uint8_t *)rte_pktmbuf_prepend(mbuf, INTRINSIC_BYTES);

	if (header == NULL) {
		b->drops.headroom++;
		rte_pktmbuf_free(mbuf);
		return false;
	}
	intrinsic_encode(header, &(struct intrinsic){
					 .pass = (uint8_t)pass,
					 .ingress_port = (uint8_t)mbuf->port,
					 .marks = marks_of(pass, q),
					 .queues = queues,
					 .packet_bytes = q->bytes,
					 .queue_bytes = (uint32_t)q->queue_bytes,
					 .own_queue_bytes = q->own_queue_bytes,
					 .enqueue_ns = q->enqueue_ns,
					 .dequeue_ns = q->dequeue_ns,
				 });
	return true;
}

static void
finish_egress(struct bottleneck *b, const struct pipeline_slot *slot,
	      const struct queue_packet *packet)
{
	if (slot->has_postcard)
		b->sink.postcard(b->sink.context, packet->lane, slot->postcard);
	if (slot->port == PIPELINE_EGRESS) {
		b->sink.frame(b->sink.context, PIPELINE_RECEIVERS, slot->mbuf, packet->lane,
			      packet->dequeue_ns);
		return;
	}
	if (slot->port != PIPELINE_TELEMETRY)
		b->drops.p4++;
	rte_pktmbuf_free(slot->mbuf);
}

/* A packet that has been in a long queue is in no cache: prefetch it some packets
 * before it is needed, first its descriptor, then its bytes.
 */
static void
prefetch_egress(const struct bottleneck *b, uint32_t i)
{
	const struct rte_mbuf *mbuf;

	if (i + 2 * PREFETCH_AHEAD < b->n_egress)
		rte_prefetch0(b->egress[i + 2 * PREFETCH_AHEAD].handle);
	if (i + PREFETCH_AHEAD >= b->n_egress)
		return;
	mbuf = b->egress[i + PREFETCH_AHEAD].handle;
	rte_prefetch0((const uint8_t *)mbuf->buf_addr + mbuf->data_off - INTRINSIC_BYTES);
}

static enum pass
pass_of(const struct queue_packet *q)
{
	if (q->dropped)
		return PASS_DROPPED;
	return q->mark ? PASS_MARKED : PASS_DEPARTED;
}

/* Fill the pipeline's slots; a packet without headroom is dropped. */
static uint32_t
load_egress(struct bottleneck *b, struct pipeline_slot *slots)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_egress; i++) {
		const struct queue_packet *packet = &b->egress[i];

		prefetch_egress(b, i);
		if (!put_intrinsic(b, packet->handle, pass_of(packet), queues_of(b, packet),
				   packet))
			continue;
		slots[n].mbuf = packet->handle;
		if (n < i)
			b->egress[n] = *packet;
		n++;
	}
	return n;
}

static void
flush_egress(struct bottleneck *b)
{
	struct pipeline_slot *slots = pipeline_slots(b->pipeline);
	uint32_t n;

	if (b->n_egress == 0)
		return;
	n = load_egress(b, slots);
	b->n_egress = 0;
	pipeline_run(b->pipeline, n);
	for (uint32_t i = 0; i < n; i++)
		finish_egress(b, &slots[i], &b->egress[i]);
}

/* One more is in its place behind the others. */
static void
grow_egress(struct bottleneck *b)
{
	if (++b->n_egress == PIPELINE_BURST)
		flush_egress(b);
}

static void
depart_until(struct bottleneck *b, uint64_t now_ns)
{
	while (traffic_manager_dequeue(&b->tm, &b->egress[b->n_egress], now_ns))
		grow_egress(b);
}

/* What has come as one is taken or dropped as one. */
static void
admit(struct bottleneck *b, struct queue_packet *packets, uint32_t n, uint64_t arrival_ns)
{
	depart_until(b, arrival_ns);
	if (traffic_manager_enqueue(&b->tm, packets, n, arrival_ns))
		return;
	for (uint32_t i = 0; i < n; i++) {
		b->egress[b->n_egress] = packets[i];
		grow_egress(b);
	}
}

static void
settle_train(struct bottleneck *b)
{
	if (b->train.n == 0)
		return;
	admit(b, b->train.packets, b->train.n, b->train.arrival_ns);
	b->train.n = 0;
}

static void
join_train(struct bottleneck *b, const struct queue_packet *q, const uint8_t *bridge,
	   uint64_t arrival_ns)
{
	struct segment segment = {
		.flow = bridge_flow(bridge),
		.seq = bridge_tcp_seq(bridge),
		.payload_bytes = bridge_payload_bytes(bridge),
		.tcp_flags = bridge_tcp_flags(bridge),
	};

	if (!train_continues(&b->train, q, &segment, arrival_ns))
		settle_train(b);
	train_add(&b->train, q, &segment, arrival_ns);
	if (b->train.has_ended)
		settle_train(b);
}

static void
enqueue(struct bottleneck *b, struct rte_mbuf *mbuf, uint64_t arrival_ns)
{
	const uint8_t *bridge = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct queue_packet q = {
		.handle = mbuf,
		.lane = bridge_lane(bridge),
		.bytes = mbuf->pkt_len - BRIDGE_BYTES,
		.flow = bridge_flow(bridge),
		.ecn = bridge_tos(bridge) & ECN_BITS,
		.queue = bridge_queue(bridge),
	};

	if (q.lane >= b->n_lanes) {
		b->drops.bad_lane++;
		rte_pktmbuf_free(mbuf);
		return;
	}
	if (traffic_manager_takes_trains(&b->tm, q.lane)) {
		join_train(b, &q, bridge, arrival_ns);
		return;
	}
	settle_train(b); /* another lane's */
	admit(b, &q, 1, arrival_ns);
}

/* When a frame is at P4 ingress: not before what has been worked off already. */
static uint64_t
ingress_ns(const struct bottleneck *b, const struct delayed *arrival)
{
	return RTE_MAX(arrival->due_ns, b->done_ns);
}

/* What has left the queues of the way back by now. */
static void
return_until(struct bottleneck *b, uint64_t now_ns)
{
	struct queue_packet packet;

	while (return_queues_get(&b->returns, &packet, now_ns))
		b->sink.frame(b->sink.context, PIPELINE_SENDERS, packet.handle, packet.lane,
			      packet.dequeue_ns);
}

/* A frame on its way back, through a queue where its lane has one there. */
static void
send_back(struct bottleneck *b, struct rte_mbuf *mbuf, const struct delayed *arrival)
{
	uint32_t lane = delays_lane(&b->delays, arrival->path);
	struct queue_packet q = {.handle = mbuf, .lane = lane, .bytes = mbuf->pkt_len};
	uint64_t now_ns = ingress_ns(b, arrival);

	if (lane == NO_LANE || !return_queues_has(&b->returns, lane)) {
		b->sink.frame(b->sink.context, PIPELINE_SENDERS, mbuf, lane, arrival->due_ns);
		return;
	}
	return_until(b, now_ns);
	if (!return_queues_put(&b->returns, &q, now_ns))
		rte_pktmbuf_free(mbuf);
}

static void
finish_ingress(struct bottleneck *b, struct rte_mbuf *mbuf, uint8_t port,
	       const struct delayed *arrival)
{
	switch (port) {
	case PIPELINE_QUEUE:
		enqueue(b, mbuf, ingress_ns(b, arrival));
		break;
	case PIPELINE_SENDERS:
		send_back(b, mbuf, arrival);
		break;
	case PIPELINE_RECEIVERS:
		b->sink.frame(b->sink.context, port, mbuf, NOT_SHAPED, arrival->due_ns);
		break;
	default:
		b->drops.p4++;
		rte_pktmbuf_free(mbuf);
	}
}

/* One burst through P4 ingress and on. The slots are shared with egress, so
 * what comes out is set aside first.
 */
static void
run_ingress(struct bottleneck *b, const struct delayed *arrivals, uint32_t n)
{
	struct pipeline_slot *slots = pipeline_slots(b->pipeline);
	struct rte_mbuf *mbufs[PIPELINE_BURST];
	const struct delayed *entered[PIPELINE_BURST];
	uint8_t ports[PIPELINE_BURST];
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = arrivals[i].handle;
		struct queue_packet q = {
			.bytes = mbuf->pkt_len,
			.enqueue_ns = ingress_ns(b, &arrivals[i]),
		};

		if (!put_intrinsic(b, mbuf, PASS_INGRESS, 0, &q))
			continue;
		entered[m] = &arrivals[i];
		slots[m++].mbuf = mbuf;
	}
	pipeline_run(b->pipeline, m);
	for (uint32_t i = 0; i < m; i++) {
		mbufs[i] = slots[i].mbuf;
		ports[i] = slots[i].port;
	}
	for (uint32_t i = 0; i < m; i++)
		finish_ingress(b, mbufs[i], ports[i], entered[i]);
}

/* Where packets come singly to P4 ingress, all that left before one is through P4 egress first. */
static void
catch_up(struct bottleneck *b, uint64_t arrival_ns)
{
	if (b->ingress_burst > 1)
		return;
	if (b->train.arrival_ns < arrival_ns)
		settle_train(b);
	depart_until(b, arrival_ns);
	flush_egress(b);
}

void
bottleneck_advance(struct bottleneck *b, uint64_t now_ns)
{
	struct delayed arrivals[PIPELINE_BURST];
	uint32_t n;

	while ((n = delays_take(&b->delays, arrivals, b->ingress_burst, now_ns)) > 0) {
		catch_up(b, ingress_ns(b, &arrivals[0]));
		run_ingress(b, arrivals, n);
	}
	settle_train(b);
	depart_until(b, now_ns);
	flush_egress(b);
	return_until(b, now_ns);
	b->done_ns = now_ns;
}

uint64_t
bottleneck_next_event(const struct bottleneck *b)
{
	uint64_t queue_ns = RTE_MIN(traffic_manager_next_event(&b->tm),
				    traffic_manager_next_event(&b->returns.tm));

	return RTE_MIN(delays_next_event(&b->delays), queue_ns);
}

void
bottleneck_reset_lane(struct bottleneck *b, uint32_t lane)
{
	discard_queue(b, &b->tm, lane);
	discard_queue(b, &b->returns.tm, lane);
	return_queues_clear(&b->returns, lane);
	traffic_lane_reset_stats(&b->tm.lanes[lane]);
	delays_clear_lane(&b->delays, lane);
}

void
bottleneck_begin_lane(struct bottleneck *b, uint32_t lane, uint64_t t0_ns)
{
	traffic_lane_begin(&b->tm.lanes[lane], t0_ns);
	delays_begin(&b->delays, lane, t0_ns);
}
