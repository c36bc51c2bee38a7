/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "common/events.h"
#include "report.h"

#define BITS_PER_BYTE 8
#define S_PER_NS 1e-9

static double
measured_s(const struct sim_network *network)
{
	return (double)(network->now_ns - network->measured_from_ns) * S_PER_NS;
}

static json_int_t
pacing_bps(const struct sim_flow *flow)
{
	unsigned long rate = flow->tp.sk.sk_pacing_rate;

	return rate == ~0UL ? 0 : (json_int_t)rate * BITS_PER_BYTE;
}

static json_t *
sample(const struct sim_network *network, u32 number)
{
	const struct sim_flow *flow = network->flows[number];
	const struct tcp_sock *tp = &flow->tp;
	static const struct cc_told nothing;
	const struct cc_told *told = tp->state ? tp->state : &nothing;

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "event", "sample", "time_ns", (json_int_t)network->now_ns, "flow",
			 (json_int_t)number, "cwnd", (json_int_t)tp->snd_cwnd, "pacing_bps",
			 pacing_bps(flow), "inflight", (json_int_t)tcp_packets_in_flight(tp),
			 "delivered_bytes", (json_int_t)tp->delivered * SIM_MSS, "srtt_us",
			 (json_int_t)(tp->srtt_us >> 3), "bw", (json_int_t)told->bw, "min_rtt_us",
			 (json_int_t)told->min_rtt_us, "pacing_gain", (json_int_t)told->pacing_gain,
			 "cwnd_gain", (json_int_t)told->cwnd_gain, "mode", (json_int_t)told->mode,
			 "queue_bytes", (json_int_t)network_queue_bytes(network));
}

int
report_sample(const struct sim_network *network, struct failure *failure)
{
	for (u32 i = 0; i < network->flow_count; i++)
		if (event_print(sample(network, i), failure) < 0)
			return -1;
	return 0;
}

static json_t *
flow_result(const struct sim_network *network, u32 number)
{
	const struct sim_flow *flow = network->flows[number];
	double bits = (double)flow->segments_received * SIM_FRAME_BYTES * BITS_PER_BYTE;
	double rtt_us = flow->rtt_count ? (double)flow->rtt_sum_us / (double)flow->rtt_count : 0;

	return json_pack("{s:s, s:I, s:s, s:f, s:I, s:I, s:f}", "event", "flow", "flow",
			 (json_int_t)number, "control", flow->ops->name, "throughput_bps",
			 bits / measured_s(network), "sent", (json_int_t)flow->segments_sent,
			 "lost", (json_int_t)flow->segments_lost, "mean_rtt_us", rtt_us);
}

/* The queue's mean over time: it is empty while the link is idle. */
static json_t *
end(const struct sim_network *network)
{
	double seconds = measured_s(network);
	double bits = (double)network->departed_bytes * BITS_PER_BYTE;

	return json_pack("{s:s, s:f, s:f, s:I, s:I}", "event", "end", "utilisation",
			 bits / seconds / (double)network->path.rate_bps, "mean_queue_bytes",
			 network->queue_integral * S_PER_NS / seconds, "drops",
			 (json_int_t)network->drops, "marks", (json_int_t)network->marks);
}

int
report_end(const struct sim_network *network, struct failure *failure)
{
	for (u32 i = 0; i < network->flow_count; i++)
		if (event_print(flow_result(network, i), failure) < 0)
			return -1;
	return event_print(end(network), failure);
}
