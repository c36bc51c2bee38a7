// SPDX-License-Identifier: Apache-2.0
/*
 * BBR version 1 as in Linux (net/ipv4/tcp_bbr.c; Cardwell, Cheng, Gunn, Yeganeh, Jacobson, ACM
 * Queue 14(5), 2016).
 */
#include "bbr_common.h"

#include <math.h>

#define HIGH_GAIN 2.885
#define WINDOW_GAIN 2.0
#define PHASES 8
/* Below it a burst may be of one segment. */
#define SLOW_RATE (1.2e6 / 8 / 1514)

static const double gains[PHASES] = {1.25, 0.75, 1, 1, 1, 1, 1, 1};

static double
pacing_gain(const struct bbr *bbr)
{
	switch (bbr->mode) {
	case BBR_STARTUP:
		return HIGH_GAIN;
	case BBR_DRAIN:
		return 1 / HIGH_GAIN;
	case BBR_PROBE_BW:
		return gains[bbr->phase];
	default:
		return 1;
	}
}

/* Flows are connected in advance, and know the round-trip time of their handshake. */
static void
bbr_start(struct cohort *flows, double now)
{
	(void)now;
	flows->bbr = (struct bbr){.mode = BBR_STARTUP,
				  .min_rtt = flows->handshake_rtt,
				  .min_rtt_at = flows->connected_at};
	flows->window = BBR_INITIAL_WINDOW;
	flows->pacing_rate = HIGH_GAIN * BBR_INITIAL_WINDOW / flows->handshake_rtt;
}

static void
enter_probe_bw(struct cohort *flows, double now)
{
	struct bbr *bbr = &flows->bbr;

	/* Any phase but the one that drains. */
	bbr->mode = BBR_PROBE_BW;
	bbr->phase = (2 + (uint32_t)(chance_draw(flows->chance) * (PHASES - 1))) % PHASES;
	bbr->phase_start = now;
}

static void
begin_round(struct bbr *bbr)
{
	bbr->best_before = 0;
	for (uint32_t i = BBR_ROUNDS - 1; i > 0; i--) {
		bbr->best[i] = bbr->best[i - 1];
		bbr->best_before = larger(bbr->best_before, bbr->best[i]);
	}
	bbr->best[0] = 0;
}

static void
update_rate(struct cohort *flows, const struct ack *ack)
{
	struct bbr *bbr = &flows->bbr;
	double rate = bbr_sampled_rate(flows, ack);

	if (ack->round)
		begin_round(bbr);
	bbr->best[0] = larger(bbr->best[0], rate);
	bbr->rate = larger(bbr->best_before, bbr->best[0]);
}

/* What three bursts in the hosts, and bursts of acknowledgements, need beside the BDP. */
static double
allowance(const struct cohort *flows)
{
	double rate = flows->bbr.rate;
	double segments = larger(rate < SLOW_RATE ? 1 : 2, rate / BBR_BURSTS_PER_SECOND);

	return BBR_BURSTS_ALLOWED * smaller(segments, BBR_MOST_SEGMENTS);
}

static void
check_full(struct bbr *bbr, const struct ack *ack)
{
	if (bbr->mode != BBR_STARTUP || !ack->round)
		return;
	if (bbr_full_pipe_check(&bbr->pipe, bbr->rate, true))
		bbr->mode = BBR_DRAIN;
}

static void
cycle(struct cohort *flows, const struct ack *ack, double bdp)
{
	struct bbr *bbr = &flows->bbr;
	double gain = gains[bbr->phase];
	bool full = ack->now - bbr->phase_start > bbr->min_rtt;

	if (gain > 1)
		full = full && (ack->lost > 0 || flows->in_flight >= gain * bdp + allowance(flows));
	else if (gain < 1)
		full = full || flows->in_flight <= bdp + allowance(flows);
	if (full) {
		bbr->phase = (bbr->phase + 1) % PHASES;
		bbr->phase_start = ack->now;
	}
}

static void
update_min_rtt(struct cohort *flows, const struct ack *ack)
{
	struct bbr *bbr = &flows->bbr;
	bool expired = ack->now > bbr->min_rtt_at + BBR_MIN_RTT_WINDOW;

	if (ack->rtt <= bbr->min_rtt || expired) {
		bbr->min_rtt = ack->rtt;
		bbr->min_rtt_at = ack->now;
	}
	if (expired && bbr->mode != BBR_PROBE_RTT) {
		bbr->window_before = flows->window;
		bbr->mode = BBR_PROBE_RTT;
		bbr->probe = (struct bbr_probe_rtt){};
	}
}

static void
probe_rtt(struct cohort *flows, const struct ack *ack)
{
	struct bbr *bbr = &flows->bbr;

	flows->window = smaller(flows->window, BBR_LEAST_WINDOW);
	if (!bbr_probe_rtt_over(&bbr->probe, flows, ack, BBR_LEAST_WINDOW))
		return;
	bbr->min_rtt_at = ack->now;
	flows->window = larger(flows->window, bbr->window_before);
	if (bbr->pipe.rounds >= BBR_FULL_ROUNDS)
		enter_probe_bw(flows, ack->now);
	else
		bbr->mode = BBR_STARTUP;
}

/* What acknowledgements that come back in bursts need, at most for a tenth of a second. */
static double
aggregated(const struct cohort *flows)
{
	const struct bbr *bbr = &flows->bbr;

	if (bbr->pipe.rounds < BBR_FULL_ROUNDS)
		return 0;
	return smaller(flows->constants->aggregated_packets, bbr->rate * BBR_MOST_AGGREGATED);
}

/*
 * In the first round trip after a loss a flow sends as much as is acknowledged. When what was in
 * flight then has come back, it goes on with the window that it had.
 */
static void
recover(struct cohort *flows, const struct ack *ack)
{
	struct bbr *bbr = &flows->bbr;

	flows->window = larger(flows->window - ack->lost, 1);
	if (ack->now >= bbr->recovery_until && bbr->recovering) {
		bbr->recovering = false;
		flows->window = larger(flows->window, bbr->window_before);
	}
	if (!bbr->recovering && ack->lost > 0 && loses(flows, ack->lost)) {
		bbr->recovering = true;
		bbr->recovery_until = ack->now + ack->rtt;
		if (bbr->mode != BBR_PROBE_RTT)
			bbr->window_before = flows->window;
		flows->window = flows->in_flight + ack->acked;
	}
}

static void
set_window(struct cohort *flows, const struct ack *ack, double bdp)
{
	struct bbr *bbr = &flows->bbr;
	double gain = bbr->mode <= BBR_DRAIN ? HIGH_GAIN : WINDOW_GAIN;
	double target = gain * bdp + allowance(flows) + aggregated(flows);

	if (bbr->mode == BBR_PROBE_BW && bbr->phase == 0)
		target += BBR_PROBE_EXTRA;
	if (bbr->recovering)
		flows->window = larger(flows->window, flows->in_flight + ack->acked);
	else if (bbr->pipe.rounds >= BBR_FULL_ROUNDS)
		flows->window = smaller(flows->window + ack->acked, target);
	else if (flows->window < target || flows->delivered < BBR_INITIAL_WINDOW)
		flows->window += ack->acked;
	flows->window = larger(flows->window, BBR_LEAST_WINDOW);
}

static void
bbr_on_ack(struct cohort *flows, const struct ack *ack)
{
	struct bbr *bbr = &flows->bbr;
	double bdp;

	if (ack->acked <= 0)
		return;
	update_rate(flows, ack);
	check_full(bbr, ack);
	recover(flows, ack);
	update_min_rtt(flows, ack);
	bdp = bbr->rate * bbr->min_rtt;
	if (bbr->mode == BBR_DRAIN && flows->in_flight <= bdp + allowance(flows))
		enter_probe_bw(flows, ack->now);
	else if (bbr->mode == BBR_PROBE_BW)
		cycle(flows, ack, bdp);
	set_window(flows, ack, bdp);
	if (bbr->mode == BBR_PROBE_RTT)
		probe_rtt(flows, ack);
	flows->pacing_rate = BBR_PACING_MARGIN * pacing_gain(bbr) * bbr->rate;
}

static double
bbr_min_rtt(const struct cohort *flows)
{
	return flows->bbr.min_rtt;
}

const struct cca bbr_cca = {
	.name = "bbr",
	.start = bbr_start,
	.on_ack = bbr_on_ack,
	.min_rtt = bbr_min_rtt,
};
