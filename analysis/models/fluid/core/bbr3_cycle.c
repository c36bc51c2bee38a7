// SPDX-License-Identifier: Apache-2.0
/* ProbeBW of BBR versions 2 and 3: DOWN, CRUISE, REFILL, UP. */
#include "bbr3_model.h"

/* From DOWN to the next probe: 2 to 3 s, or as often as a Reno flow of this BDP would lose. */
#define PROBE_WAIT 2.0
#define PROBE_WAIT_RANDOM 1.0
#define PROBE_MOST_ROUNDS 63.0

void
bbr3_start_down(struct cohort *flows, double now)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr3_reset_signals(bbr);
	bbr->up_count = INFINITY;
	bbr->rounds_since_probe = chance_draw(flows->chance) < 0.5;
	bbr->wait = PROBE_WAIT + PROBE_WAIT_RANDOM * chance_draw(flows->chance);
	bbr->cycle_start = now;
	bbr->acks = BBR3_ACKS_STOPPING;
	flows->round_start = now;
	bbr->mode = BBR3_DOWN;
}

void
bbr3_start_cruise(struct bbr3 *bbr)
{
	if (!isinf(bbr->volume_low))
		bbr->volume_low = smaller(bbr->volume_low, bbr->volume_high);
	bbr->mode = BBR3_CRUISE;
}

static void
start_refill(struct cohort *flows, double now)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr3_reset_short_term(bbr);
	bbr->up_rounds = 0;
	bbr->stopped_risky = false;
	bbr->acks = BBR3_ACKS_REFILLING;
	flows->round_start = now;
	bbr->mode = BBR3_REFILL;
}

static void
start_up(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr->acks = BBR3_ACKS_STARTING;
	flows->round_start = sample->ack->now;
	bbr->cycle_start = sample->ack->now;
	bbr_full_pipe_watch(&bbr->pipe, sample->rate);
	bbr->full_now = false;
	bbr->mode = BBR3_UP;
	bbr3_raise_slope(flows);
}

static bool
is_time_to_probe(const struct cohort *flows, double now)
{
	const struct bbr3 *bbr = &flows->bbr3;
	double rounds = smaller(floor(bbr3_target(flows)), PROBE_MOST_ROUNDS);

	return now - bbr->cycle_start > bbr->wait || bbr->rounds_since_probe >= rounds;
}

static bool
is_time_to_cruise(const struct cohort *flows, const struct bbr3_sample *sample)
{
	const struct bbr3 *bbr = &flows->bbr3;

	return sample->in_network <= bbr3_with_headroom(bbr) &&
	       sample->in_network <= bbr3_inflight(flows, bbr3_best_rate(bbr), 1);
}

/* Version 2: a quarter of a BDP is queued. Version 3: the rate stopped growing by itself. */
static bool
has_probed_enough(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;
	double best = bbr3_best_rate(bbr);

	if (!bbr->rules->full_by_sample)
		return sample->ack->now - bbr->cycle_start > bbr->min_rtt &&
		       sample->in_network >= bbr3_inflight(flows, best, BBR3_UP_PACING);
	if (sample->held_by_bound) {
		bbr_full_pipe_watch(&bbr->pipe, sample->rate);
		bbr->full_now = false;
		return false;
	}
	return bbr->full_now;
}

static void
update_up(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;

	if (bbr->too_high && sample->in_network >= bbr->volume_high)
		bbr->stopped_risky = true;
	else if (!has_probed_enough(flows, sample))
		return;
	bbr->too_high = false;
	bbr3_start_down(flows, sample->ack->now);
}

void
bbr3_act(struct cohort *flows, enum bbr3_verdict verdict, double now)
{
	if (verdict == BBR3_TOO_HIGH && flows->bbr3.mode == BBR3_UP)
		bbr3_start_down(flows, now);
	else if (verdict == BBR3_PROBE_AGAIN)
		start_refill(flows, now);
}

void
bbr3_update_cycle(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;
	double now = sample->ack->now;
	enum bbr3_verdict verdict;

	if (!bbr->full_reached)
		return;
	verdict = bbr3_adapt_long_term(flows, sample);
	bbr3_act(flows, verdict, now);
	if (verdict == BBR3_PROBE_AGAIN || !bbr3_in_cycle(bbr))
		return;
	if (bbr->mode == BBR3_UP) {
		update_up(flows, sample);
	} else if (bbr->mode == BBR3_REFILL) {
		if (sample->ack->round) {
			bbr->probe_samples = true;
			start_up(flows, sample);
		}
	} else if (is_time_to_probe(flows, now)) {
		start_refill(flows, now);
	} else if (bbr->mode == BBR3_DOWN && is_time_to_cruise(flows, sample)) {
		bbr3_start_cruise(bbr);
	}
}
