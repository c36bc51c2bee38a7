/* SPDX-License-Identifier: Apache-2.0 */
/* What BBR's history says of a segment against what was true when it left: BBRv3 sends through a
 * drop-tail queue with random losses, and a receiver that acknowledges each or every other segment.
 */
#include <math.h>
#include <string.h>

#include "common/check.h"
#include "dpdk/core/prng.h"

#include "../bbr3.c"
#include "../sim/flow.h"

#define NS_PER_S 1000000000ULL
#define TRANSMISSIONS (1u << 20)
#define MOST_INFLIGHT_ERROR 0.01 /* of what was in flight, on average */
#define MOST_WRONG_LOSSES 0.03	 /* of the answers: by the losses that one row spans */
#define MOST_LOSSES_OFF 0.005	 /* of what was in flight, and one; 0.02 of it are too much loss */

struct link {
	u64 service_ns, rtt_ns, idle_from_ns, now_ns;
	u32 buffer, loss_ppm, every; /* segments that one acknowledgement is for */
	u32 held;
	struct sim_acks acks;
};

static struct {
	u32 inflight[TRANSMISSIONS], lost[TRANSMISSIONS]; /* by order of transmission */
	u64 answers, wrong_losses;
	double losses_off; /* at worst, of what was in flight */
	double inflight_error;
} truth;

static uint64_t random_state;
static struct bbr state;

void *
sim_alloc(size_t bytes)
{
	CHECK(bytes == sizeof(state));
	memset(&state, 0, bytes);
	return &state;
}

u32
sim_random(void)
{
	return (u32)prng_next(&random_state);
}

static void
compare(const struct sim_flow *flow, const struct rate_sample *rs)
{
	const struct bbr_sent *row =
		&state.history.sent[bbr_history_find(&state.history, rs->prior_delivered)];
	double inflight = truth.inflight[flow->newest_order];
	u32 off = (u32)abs((s32)(row->lost - truth.lost[flow->newest_order]));

	truth.answers++;
	truth.inflight_error += fabs(row->inflight - inflight) / inflight;
	truth.wrong_losses += off > 0;
	truth.losses_off = fmax(truth.losses_off, (off - 1.0) / inflight);
}

/* BBR's own answer to an acknowledgement, then what its history says of the newest segment. */
static void
compared_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	const struct sim_flow *flow = (const struct sim_flow *)sk;

	bbr_main(sk, ack, flag, rs);
	if (rs->prior_mstamp)
		compare(flow, rs);
}

static void
transmit(void *context, struct sim_flow *flow, u32 sequence)
{
	struct link *link = context;
	u32 order = flow->next_order - 1;
	struct sim_ack *ack;

	CHECK(order < TRANSMISSIONS);
	truth.inflight[order] = tcp_packets_in_flight(&flow->tp);
	truth.lost[order] = flow->tp.lost;
	if (sim_random() % 1000000 < link->loss_ppm ||
	    link->idle_from_ns > link->now_ns + link->buffer * link->service_ns)
		return;
	link->idle_from_ns = max(link->idle_from_ns, link->now_ns) + link->service_ns;
	ack = &link->acks.ack[link->acks.tail % SIM_WINDOW];
	ack->at_ns = link->idle_from_ns + link->rtt_ns;
	ack->sequence = sequence;
	ack->cumulative = flow_receive(flow, sequence);
	/* In order, an acknowledgement may wait for the next segment. */
	if (ack->cumulative == sequence + 1 && ++link->held < link->every)
		return;
	link->held = 0;
	link->acks.tail++;
}

static u64
next_ack_ns(const struct link *link)
{
	if (link->acks.head == link->acks.tail)
		return UINT64_MAX;
	return link->acks.ack[link->acks.head % SIM_WINDOW].at_ns;
}

static void
step(struct link *link, struct sim_flow *flow)
{
	u64 ack_ns = next_ack_ns(link), timeout_ns = flow_timeout_ns(flow);
	u64 send_ns = flow_next_send_ns(flow, link->now_ns);

	link->now_ns = min(ack_ns, min(timeout_ns, send_ns));
	if (link->now_ns == ack_ns)
		flow_acknowledge(flow, link->now_ns,
				 &link->acks.ack[link->acks.head++ % SIM_WINDOW]);
	else if (link->now_ns == timeout_ns)
		flow_time_out(flow, link->now_ns);
	flow_send(flow, link->now_ns, transmit, link);
}

static void
check_path(u64 mbps, u64 rtt_ms, u32 buffer, u32 loss_ppm, u32 every)
{
	static struct sim_flow flow;
	static struct link link;
	struct tcp_congestion_ops ops = cc_ops;

	memset(&flow, 0, sizeof(flow));
	memset(&link, 0, sizeof(link));
	memset(&truth, 0, sizeof(truth));
	ops.cong_control = compared_main;
	link.service_ns = 12112 * 1000 / mbps;
	link.rtt_ns = rtt_ms * 1000000;
	link.buffer = buffer;
	link.loss_ppm = loss_ppm;
	link.every = every;
	random_state = 1;
	flow_init(&flow, &ops);
	flow_start(&flow, 0);
	flow_send(&flow, 0, transmit, &link);
	while (link.now_ns < 20 * NS_PER_S)
		step(&link, &flow);
	printf("%llu Mbit/s %llu ms: %llu answers, in flight off by %.2f %%, losses wrong in %.2f %%, by %.2f %% at worst\n",
	       mbps, rtt_ms, truth.answers, 100 * truth.inflight_error / (double)truth.answers,
	       100.0 * (double)truth.wrong_losses / (double)truth.answers, 100 * truth.losses_off);
	CHECK(truth.answers > 10000);
	CHECK(truth.inflight_error < MOST_INFLIGHT_ERROR * (double)truth.answers);
	CHECK((double)truth.wrong_losses < MOST_WRONG_LOSSES * (double)truth.answers);
	CHECK(truth.losses_off <= MOST_LOSSES_OFF);
}

int
main(void)
{
	check_path(10, 40, 33, 0, 1);
	check_path(50, 40, 82, 1000, 1);
	check_path(50, 40, 330, 1000, 2);
	check_path(200, 100, 826, 100, 2);
	check_path(100, 5, 20, 10000, 1);
	return 0;
}
