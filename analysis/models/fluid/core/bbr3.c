// SPDX-License-Identifier: Apache-2.0
/*
 * BBR versions 2 and 3 (draft-cardwell-iccrg-bbr-congestion-control, draft-ietf-ccwg-bbr), as
 * hosts/cc/bbr2.c and bbr3.c have them; hosts/cc/README.md has the source of each constant.
 */
#include "bbr3_model.h"
#include "losses.h"

#define WINDOW_GAIN 2.0
#define PROBE_RTT_GAIN 0.5
#define PROBE_RTT_EVERY 5.0
#define EXTRA_ACKED_ROUNDS 5
#define MOST_LOSS_EVENTS 15.0

static const struct bbr3_rules version2 = {
	.startup_pacing = 2.885,
	.startup_window = 2.885,
	.drain_pacing = 0.344,
	.drain_rounds = INFINITY,
	.down_pacing = 0.75,
	.up_window = 2,
	.startup_losses = 8,
	.full_by_sample = false,
};

static const struct bbr3_rules version3 = {
	.startup_pacing = 2.773,
	.startup_window = 2,
	.drain_pacing = 0.5,
	.drain_rounds = 3,
	.down_pacing = 0.9,
	.up_window = 2.25,
	.startup_losses = 6,
	.full_by_sample = true,
};

static double
pacing_gain(const struct bbr3 *bbr)
{
	switch (bbr->mode) {
	case BBR3_STARTUP:
		return bbr->rules->startup_pacing;
	case BBR3_DRAIN:
		return bbr->rules->drain_pacing;
	case BBR3_DOWN:
		return bbr->rules->down_pacing;
	case BBR3_UP:
		return BBR3_UP_PACING;
	default:
		return 1;
	}
}

static double
window_gain(const struct bbr3 *bbr)
{
	switch (bbr->mode) {
	case BBR3_STARTUP:
	case BBR3_DRAIN:
		return bbr->rules->startup_window;
	case BBR3_UP:
		return bbr->rules->up_window;
	case BBR3_PROBE_RTT:
		return PROBE_RTT_GAIN;
	default:
		return WINDOW_GAIN;
	}
}

/* Flows are connected in advance, and know the round-trip time of their handshake. */
static void
begin(struct cohort *flows, double now, const struct bbr3_rules *rules)
{
	flows->bbr3 = (struct bbr3){.rules = rules,
				    .mode = BBR3_STARTUP,
				    .volume_high = INFINITY,
				    .up_count = INFINITY,
				    .loss_round_start = now,
				    .extra_since = now,
				    .min_rtt = flows->handshake_rtt,
				    .min_rtt_at = flows->connected_at,
				    .probe_min = flows->handshake_rtt,
				    .idle_restart = true};
	bbr3_reset_short_term(&flows->bbr3);
	flows->window = BBR_INITIAL_WINDOW;
	flows->pacing_rate = rules->startup_pacing * BBR_INITIAL_WINDOW / flows->handshake_rtt;
}

static void
bbr2_start(struct cohort *flows, double now)
{
	begin(flows, now, &version2);
}

static void
bbr3_start(struct cohort *flows, double now)
{
	begin(flows, now, &version3);
}

static struct bbr3_sample
take_sample(struct cohort *flows, const struct ack *ack)
{
	double before = flows->in_flight + ack->acked + ack->lost;
	struct bbr3_sample sample = {
		.ack = ack,
		.rate = ack->acked > 0 ? bbr_sampled_rate(flows, ack) : 0,
		.missed = losses_draw(flows, ack->lost),
		.limited = ack->now - ack->rtt < flows->bbr3.limited_until,
		.in_network = before,
		.held_by_bound =
			before + 1 >= flows->window && flows->window >= flows->bbr3.volume_high,
	};

	if (pacing_gain(&flows->bbr3) > 1)
		sample.in_network += bbr3_burst(flows);
	sample.missed_since_sent = flows->missed - ack->sent_missed;
	return sample;
}

/* Losses end Startup at the end of a round in recovery where they were often and many. */
static void
check_startup_losses(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;
	double volume;

	if (bbr->full_reached)
		return;
	bbr->losses = smaller(bbr->losses + sample->missed, MOST_LOSS_EVENTS);
	if (!bbr->loss_round)
		return;
	if (bbr->losses >= bbr->rules->startup_losses && bbr3_too_lossy(sample) &&
	    sample->ack->now <= bbr->recovery_until) {
		volume = bbr3_inflight(flows, bbr3_best_rate(bbr), 1);
		bbr->full_reached = true;
		bbr->volume_high =
			bbr->rules->full_by_sample ? larger(volume, bbr->volume_latest) : volume;
	}
	bbr->losses = 0;
}

static void
check_full(struct bbr3 *bbr, const struct bbr3_sample *sample)
{
	bool round = sample->ack->round;

	if (sample->limited || sample->rate <= 0)
		return;
	if (bbr->rules->full_by_sample && !bbr->full_now)
		bbr->full_now = bbr_full_pipe_check(&bbr->pipe, sample->rate, round);
	else if (!bbr->rules->full_by_sample && !bbr->full_reached && round)
		bbr->full_now = bbr_full_pipe_check(&bbr->pipe, bbr3_best_rate(bbr), round);
	bbr->full_reached = bbr->full_reached || bbr->full_now;
}

static void
check_drain(struct cohort *flows, const struct ack *ack)
{
	struct bbr3 *bbr = &flows->bbr3;

	if (bbr->mode == BBR3_STARTUP && bbr->full_reached) {
		bbr->mode = BBR3_DRAIN;
		bbr->drain_rounds = 0;
		bbr3_reset_signals(bbr);
	}
	if (bbr->mode == BBR3_DRAIN &&
	    (flows->in_flight <= bbr3_inflight(flows, bbr3_best_rate(bbr), 1) ||
	     bbr->drain_rounds > bbr->rules->drain_rounds))
		bbr3_start_down(flows, ack->now);
}

/* True where ProbeRTT is due. */
static bool
filter_min_rtt(struct bbr3 *bbr, const struct ack *ack)
{
	bool due = ack->now > bbr->probe_min_at + PROBE_RTT_EVERY;

	if (ack->rtt < bbr->probe_min || due) {
		bbr->probe_min = ack->rtt;
		bbr->probe_min_at = ack->now;
	}
	if (bbr->probe_min <= bbr->min_rtt || ack->now > bbr->min_rtt_at + BBR_MIN_RTT_WINDOW) {
		bbr->min_rtt = bbr->probe_min;
		bbr->min_rtt_at = bbr->probe_min_at;
	}
	return due;
}

static void
enter_probe_rtt(struct cohort *flows, double now)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr->probe = (struct bbr_probe_rtt){};
	bbr->window_before = flows->window;
	bbr->mode = BBR3_PROBE_RTT;
	bbr->acks = BBR3_ACKS_STOPPING;
	flows->round_start = now;
}

/* Into the cycle past DOWN, for the queue is drained; into Startup where it was not over. */
static void
exit_probe_rtt(struct cohort *flows, double now)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr->probe_min_at = now;
	flows->window = larger(flows->window, bbr->window_before);
	bbr3_reset_short_term(bbr);
	bbr->mode = BBR3_STARTUP;
	if (bbr->full_reached) {
		bbr3_start_down(flows, now);
		bbr3_start_cruise(bbr);
	}
}

static double
probe_rtt_window(const struct bbr3 *bbr)
{
	return larger(BBR_LEAST_WINDOW, PROBE_RTT_GAIN * bbr3_rate(bbr) * bbr->min_rtt);
}

static void
update_min_rtt(struct cohort *flows, const struct ack *ack)
{
	struct bbr3 *bbr = &flows->bbr3;
	bool due = filter_min_rtt(bbr, ack);

	if (due && !bbr->idle_restart && bbr->mode != BBR3_PROBE_RTT)
		enter_probe_rtt(flows, ack->now);
	bbr->idle_restart = false;
	if (bbr->mode != BBR3_PROBE_RTT)
		return;
	bbr->limited_until = ack->now + ack->rtt;
	if (bbr_probe_rtt_over(&bbr->probe, flows, ack, probe_rtt_window(bbr)))
		exit_probe_rtt(flows, ack->now);
}

/* How much more is acknowledged than the rate explains, of the last five to ten rounds. */
static void
update_aggregation(struct cohort *flows, const struct ack *ack)
{
	struct bbr3 *bbr = &flows->bbr3;
	double rate = bbr3_rate(bbr), expected;

	if (ack->round && ++bbr->extra_rounds >= (bbr->full_reached ? EXTRA_ACKED_ROUNDS : 1)) {
		bbr->extra_rounds = 0;
		bbr->extra[1] = bbr->extra[0];
		bbr->extra[0] = 0;
	}
	expected = rate * (ack->now - bbr->extra_since);
	if (bbr->extra_acked <= expected) {
		bbr->extra_acked = 0;
		bbr->extra_since = ack->now - ack->slot;
		expected = rate * ack->slot;
	}
	bbr->extra_acked += ack->acked;
	bbr->extra[0] = larger(bbr->extra[0], smaller(flows->window, bbr->extra_acked - expected));
}

static double
window_cap(const struct bbr3 *bbr)
{
	double cap = INFINITY;

	if (bbr->mode == BBR3_CRUISE || bbr->mode == BBR3_PROBE_RTT)
		cap = bbr3_with_headroom(bbr);
	else if (bbr3_in_cycle(bbr))
		cap = bbr->volume_high;
	cap = larger(BBR_LEAST_WINDOW, smaller(cap, bbr->volume_low));
	return bbr->mode == BBR3_PROBE_RTT ? smaller(cap, probe_rtt_window(bbr)) : cap;
}

static void
set_window(struct cohort *flows, double acked)
{
	struct bbr3 *bbr = &flows->bbr3;
	double rate = bbr3_rate(bbr);
	double aggregated =
		flows->constants->aggregated_packets + larger(bbr->extra[0], bbr->extra[1]);
	double most = window_gain(bbr) * rate * bbr->min_rtt;

	most = bbr3_with_budget(flows, most + smaller(aggregated, BBR_MOST_AGGREGATED * rate));
	if (bbr->full_reached)
		flows->window = smaller(flows->window + acked, most);
	else if (flows->window < most || flows->window < 2 * BBR_INITIAL_WINDOW)
		flows->window += acked;
	flows->window = larger(flows->window, BBR_LEAST_WINDOW);
	flows->window = smaller(flows->window, window_cap(bbr));
}

/* In Startup the rate only grows. */
static void
set_pacing(struct cohort *flows)
{
	const struct bbr3 *bbr = &flows->bbr3;
	double rate = BBR_PACING_MARGIN * pacing_gain(bbr) * bbr3_rate(bbr);

	if (bbr->full_reached || rate > flows->pacing_rate)
		flows->pacing_rate = rate;
}

static void
bbr3_on_ack(struct cohort *flows, const struct ack *ack)
{
	struct bbr3 *bbr = &flows->bbr3;
	struct bbr3_sample sample;

	if (ack->acked <= 0)
		return;
	sample = take_sample(flows, ack);
	if (ack->round) {
		bbr->rounds_since_probe += 1;
		bbr->drain_rounds += 1;
	}
	bbr3_act(flows, bbr3_note_losses(flows, &sample), ack->now);
	bbr3_update_signals(flows, &sample);
	update_aggregation(flows, ack);
	check_startup_losses(flows, &sample);
	check_full(bbr, &sample);
	check_drain(flows, ack);
	bbr3_update_cycle(flows, &sample);
	update_min_rtt(flows, ack);
	set_pacing(flows);
	set_window(flows, ack->acked);
	bbr3_advance_signals(bbr, &sample);
}

static double
bbr3_min_rtt(const struct cohort *flows)
{
	return flows->bbr3.min_rtt;
}

const struct cca bbr2_cca = {
	.name = "bbr2",
	.start = bbr2_start,
	.on_ack = bbr3_on_ack,
	.min_rtt = bbr3_min_rtt,
};

const struct cca bbr3_cca = {
	.name = "bbr3",
	.start = bbr3_start,
	.on_ack = bbr3_on_ack,
	.min_rtt = bbr3_min_rtt,
};
