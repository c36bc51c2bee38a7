/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "flow.h"

#define NS_PER_US 1000
#define SEGMENTS_OUT_OF_ORDER 3 /* RACK's reordering window, in segments */
#define LEAST_TIMEOUT_NS UINT64_C(1000000000)
#define INITIAL_CWND 10

static struct sim_segment *
segment_at(struct sim_flow *flow, u32 sequence)
{
	return &flow->segment[sequence % SIM_WINDOW];
}

void
flow_init(struct sim_flow *flow, const struct tcp_congestion_ops *ops)
{
	struct tcp_sock *tp = &flow->tp;

	flow->ops = ops;
	tp->mss_cache = SIM_MSS;
	tp->snd_cwnd = INITIAL_CWND;
	tp->snd_cwnd_clamp = U32_MAX;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->sk.sk_max_pacing_rate = ~0UL;
	tp->sk.sk_pacing_rate = ~0UL;
	tp->sk.sk_pacing_shift = 10;
}

void
flow_start(struct sim_flow *flow, u64 now_ns)
{
	struct tcp_sock *tp = &flow->tp;

	tp->tcp_mstamp = now_ns / NS_PER_US;
	tp->tcp_clock_cache = now_ns;
	tp->delivered_mstamp = tp->tcp_mstamp;
	flow->last_ack_ns = now_ns;
	if (flow->ops->init)
		flow->ops->init(&tp->sk);
}

/* ------------------------------------------------------------------------------ sending */

static void
pace(struct sim_flow *flow, u64 now_ns)
{
	struct tcp_sock *tp = &flow->tp;
	u64 rate = tp->sk.sk_pacing_rate;

	tp->tcp_clock_cache = now_ns;
	if (!tp->sk.sk_pacing_status || rate == ~0UL || rate == 0)
		return;
	flow->next_send_ns = max(flow->next_send_ns, now_ns) + SIM_MSS * 1000000000ULL / rate;
	tp->tcp_wstamp_ns = flow->next_send_ns;
}

static void
transmit_one(struct sim_flow *flow, u32 sequence, u64 now_ns, sim_transmit transmit, void *network)
{
	struct tcp_sock *tp = &flow->tp;
	struct sim_segment *segment = segment_at(flow, sequence);

	if (tp->packets_out == 1 && !segment->retransmitted) { /* after an empty pipe */
		flow->first_sent_us = now_ns / NS_PER_US;
		tp->delivered_mstamp = now_ns / NS_PER_US;
	}
	segment->sent_us = now_ns / NS_PER_US;
	segment->first_sent_us = flow->first_sent_us;
	segment->prior_us = tp->delivered_mstamp;
	segment->delivered = tp->delivered;
	segment->delivered_ce = tp->delivered_ce;
	segment->app_limited = tp->app_limited != 0;
	segment->order = flow->next_order;
	flow->sent_sequence[flow->next_order++ % SIM_WINDOW] = sequence;
	tp->data_segs_out++;
	flow->segments_sent++;
	pace(flow, now_ns);
	transmit(network, flow, sequence);
}

/* The next lost segment that is still missing; false where there is none. */
static bool
next_lost(struct sim_flow *flow, u32 *sequence)
{
	struct sim_lost_queue *queue = &flow->lost_queue;

	while (queue->head != queue->tail) {
		u32 candidate = queue->sequence[queue->head++ % SIM_WINDOW];
		struct sim_segment *segment = segment_at(flow, candidate);

		if (cc_before(candidate, flow->tp.snd_una) || segment->sacked || !segment->lost)
			continue;
		*sequence = candidate;
		return true;
	}
	return false;
}

static u32
new_segment(struct sim_flow *flow)
{
	struct tcp_sock *tp = &flow->tp;
	u32 sequence = tp->snd_nxt++;

	memset(segment_at(flow, sequence), 0, sizeof(struct sim_segment));
	tp->packets_out++;
	return sequence;
}

/* What goes out next: a lost segment, or a new one; false where the flow can have no more outstanding. */
static bool
choose(struct sim_flow *flow, u32 *sequence)
{
	struct tcp_sock *tp = &flow->tp;

	if (next_lost(flow, sequence)) {
		tp->retrans_out++;
		segment_at(flow, *sequence)->retransmitted = true;
		return true;
	}
	if (tp->packets_out >= SIM_WINDOW / 2)
		return false;
	*sequence = new_segment(flow);
	return true;
}

/* As tcp_write_xmit: the window limits where it is full after sending, whether or not pacing also holds
 * the next segment.
 */
void
flow_send(struct sim_flow *flow, u64 now_ns, sim_transmit transmit, void *network)
{
	struct tcp_sock *tp = &flow->tp;
	u32 sequence;

	while (flow->next_send_ns <= now_ns && tcp_packets_in_flight(tp) < tp->snd_cwnd &&
	       choose(flow, &sequence))
		transmit_one(flow, sequence, now_ns, transmit, network);
	if (tcp_packets_in_flight(tp) >= tp->snd_cwnd) {
		flow->was_limited = true;
		tp->is_cwnd_limited = 1;
	}
}

u64
flow_next_send_ns(const struct sim_flow *flow, u64 now_ns)
{
	bool has_room = tcp_packets_in_flight(&flow->tp) < flow->tp.snd_cwnd;

	return has_room && flow->next_send_ns > now_ns ? flow->next_send_ns : UINT64_MAX;
}

/* --------------------------------------------------------------------------- receiving */

u32
flow_receive(struct sim_flow *flow, u32 sequence)
{
	flow->segments_received++;
	if (!cc_before(sequence, flow->expected))
		flow->received[sequence % SIM_WINDOW] = true;
	while (flow->received[flow->expected % SIM_WINDOW])
		flow->received[flow->expected++ % SIM_WINDOW] = false;
	return flow->expected;
}

/* --------------------------------------------------------------------- acknowledgements */

/* The sample of the newest transmission that an acknowledgement covers, as tcp_rate.c has it. */
static void
take_sample(struct sim_flow *flow, const struct sim_segment *segment, struct rate_sample *rs)
{
	struct tcp_sock *tp = &flow->tp;
	u64 sending_us = segment->sent_us - segment->first_sent_us;
	u64 acking_us = tp->tcp_mstamp - segment->prior_us;

	if (rs->prior_mstamp && cc_before(segment->delivered, rs->prior_delivered))
		return;
	rs->prior_delivered = segment->delivered;
	rs->delivered_ce = (s32)(tp->delivered_ce - segment->delivered_ce);
	rs->prior_mstamp = max(segment->prior_us, 1ULL);
	rs->is_app_limited = segment->app_limited;
	rs->is_retrans = segment->retransmitted;
	rs->interval_us = (long)max(sending_us, acking_us);
	flow->first_sent_us = segment->sent_us;
	if (!segment->retransmitted)
		rs->rtt_us = (long)(tp->tcp_mstamp - segment->sent_us);
	if (cc_before(flow->newest_order, segment->order))
		flow->newest_order = segment->order;
}

static void
deliver(struct sim_flow *flow, u32 sequence, struct rate_sample *rs)
{
	struct tcp_sock *tp = &flow->tp;
	struct sim_segment *segment = segment_at(flow, sequence);

	if (segment->sacked)
		return;
	segment->sacked = true;
	tp->sacked_out++;
	tp->delivered++;
	tp->delivered_mstamp = tp->tcp_mstamp;
	if (segment->lost) {
		segment->lost = false;
		tp->lost_out--;
		if (segment->retransmitted)
			tp->retrans_out--;
	}
	take_sample(flow, segment, rs);
}

static void
advance(struct sim_flow *flow, u32 cumulative, struct rate_sample *rs)
{
	struct tcp_sock *tp = &flow->tp;

	for (; cc_before(tp->snd_una, cumulative); tp->snd_una++) {
		deliver(flow, tp->snd_una, rs);
		tp->sacked_out--;
		tp->packets_out--;
	}
}

static void
mark_lost(struct sim_flow *flow, u32 sequence)
{
	struct tcp_sock *tp = &flow->tp;
	struct sim_segment *segment = segment_at(flow, sequence);

	if (!segment->lost || segment->retransmitted) { /* it was in flight */
		tp->lost++;
		flow->segments_lost++;
	}
	if (segment->retransmitted)
		tp->retrans_out--;
	if (!segment->lost)
		tp->lost_out++;
	segment->lost = true;
	segment->retransmitted = false;
	flow->lost_queue.sequence[flow->lost_queue.tail++ % SIM_WINDOW] = sequence;
}

/* A transmission is lost when one that left three later has arrived. */
static void
find_losses(struct sim_flow *flow)
{
	for (; !cc_before(flow->newest_order, flow->checked_order + SEGMENTS_OUT_OF_ORDER);
	     flow->checked_order++) {
		u32 sequence = flow->sent_sequence[flow->checked_order % SIM_WINDOW];
		struct sim_segment *segment = segment_at(flow, sequence);

		if (!cc_before(sequence, flow->tp.snd_una) && !segment->sacked &&
		    segment->order == flow->checked_order)
			mark_lost(flow, sequence);
	}
}

static void
smooth_rtt(struct sim_flow *flow, long rtt_us)
{
	struct tcp_sock *tp = &flow->tp;

	if (rtt_us <= 0)
		return;
	if (tp->srtt_us == 0)
		tp->srtt_us = (u32)rtt_us << 3;
	else
		tp->srtt_us += (s32)rtt_us - (s32)(tp->srtt_us >> 3);
	flow->rtt_sum_us += (u64)rtt_us;
	flow->rtt_count++;
}

static void
change_state(struct sim_flow *flow, u8 state)
{
	if (flow->ops->set_state)
		flow->ops->set_state(&flow->tp.sk, state);
	flow->tp.ca_state = state;
}

static void
enter_recovery(struct sim_flow *flow, u8 state)
{
	struct tcp_sock *tp = &flow->tp;

	flow->recovery_end = tp->snd_nxt;
	if (tp->ca_state < TCP_CA_Recovery) {
		tp->prior_cwnd = tp->snd_cwnd;
		tp->snd_ssthresh = flow->ops->ssthresh(&tp->sk);
	}
	change_state(flow, state);
}

static void
follow_recovery(struct sim_flow *flow, const struct rate_sample *rs, bool ce)
{
	struct tcp_sock *tp = &flow->tp;

	if (rs->losses && tp->ca_state < TCP_CA_Recovery)
		enter_recovery(flow, TCP_CA_Recovery);
	else if (tp->ca_state != TCP_CA_Open && !cc_before(tp->snd_una, flow->recovery_end))
		change_state(flow, TCP_CA_Open);
	if (ce && tp->ca_state == TCP_CA_Open)
		enter_recovery(flow, TCP_CA_CWR);
}

static void
judge_usage(struct sim_flow *flow)
{
	struct tcp_sock *tp = &flow->tp;

	if (cc_before(tp->snd_una, flow->usage_end))
		return;
	tp->is_cwnd_limited = flow->was_limited;
	flow->was_limited = false;
	flow->usage_end = tp->snd_nxt;
}

void
flow_acknowledge(struct sim_flow *flow, u64 now_ns, const struct sim_ack *ack)
{
	struct tcp_sock *tp = &flow->tp;
	struct rate_sample rs = {.interval_us = -1, .rtt_us = -1, .delivered = -1};
	u32 delivered = tp->delivered, lost = tp->lost;

	rs.prior_in_flight = tcp_packets_in_flight(tp);
	tp->tcp_mstamp = now_ns / NS_PER_US;
	tp->tcp_clock_cache = now_ns;
	flow->last_ack_ns = now_ns;
	tp->delivered_ce += ack->ce;
	if (!cc_before(ack->sequence, tp->snd_una) && !cc_before(ack->sequence, ack->cumulative))
		deliver(flow, ack->sequence, &rs);
	advance(flow, ack->cumulative, &rs);
	find_losses(flow);
	if (tp->app_limited && cc_before(tp->app_limited, tp->delivered))
		tp->app_limited = 0;
	rs.acked_sacked = tp->delivered - delivered;
	rs.losses = (s32)(tp->lost - lost);
	if (rs.prior_mstamp)
		rs.delivered = (s32)(tp->delivered - rs.prior_delivered);
	smooth_rtt(flow, rs.rtt_us);
	follow_recovery(flow, &rs, ack->ce);
	judge_usage(flow);
	flow->ops->cong_control(&tp->sk, ack->cumulative, 0, &rs);
	tp->snd_cwnd = max(tp->snd_cwnd, 1u);
}

/* ------------------------------------------------------------------------------ timeouts */

u64
flow_timeout_ns(const struct sim_flow *flow)
{
	u64 twice_rtt_ns = (u64)(flow->tp.srtt_us >> 2) * NS_PER_US;

	if (!flow->tp.packets_out)
		return UINT64_MAX;
	return flow->last_ack_ns + max(twice_rtt_ns, LEAST_TIMEOUT_NS);
}

void
flow_time_out(struct sim_flow *flow, u64 now_ns)
{
	struct tcp_sock *tp = &flow->tp;

	tp->tcp_mstamp = now_ns / NS_PER_US;
	flow->lost_queue.head = flow->lost_queue.tail;
	for (u32 sequence = tp->snd_una; cc_before(sequence, tp->snd_nxt); sequence++)
		if (!segment_at(flow, sequence)->sacked)
			mark_lost(flow, sequence);
	flow->checked_order = flow->next_order;
	enter_recovery(flow, TCP_CA_Loss);
	tp->snd_cwnd = tcp_packets_in_flight(tp) + 1;
	flow->next_send_ns = now_ns;
	flow->last_ack_ns = now_ns;
}

void
flow_forget(struct sim_flow *flow)
{
	flow->segments_received = 0;
	flow->segments_sent = 0;
	flow->segments_lost = 0;
	flow->rtt_sum_us = 0;
	flow->rtt_count = 0;
}
