// SPDX-License-Identifier: Apache-2.0
/*
 * What losses teach BBR versions 2 and 3: short-term bounds of rate and volume that each round with
 * losses lowers while it does not probe, and a long-term bound of the volume that probes find. What
 * they find is a verdict, on which the cycle acts (bbr3_cycle.c).
 */
#include "bbr3_model.h"

#define MOST_DOUBLINGS 30

void
bbr3_reset_short_term(struct bbr3 *bbr)
{
	bbr->rate_low = INFINITY;
	bbr->volume_low = INFINITY;
}

void
bbr3_reset_signals(struct bbr3 *bbr)
{
	bbr->loss_in_round = false;
	bbr->rate_latest = 0;
	bbr->volume_latest = 0;
}

static void
lower_short_term(struct cohort *flows)
{
	struct bbr3 *bbr = &flows->bbr3;

	if (bbr3_is_probing(bbr) || !bbr->loss_in_round)
		return;
	if (isinf(bbr->rate_low))
		bbr->rate_low = bbr3_best_rate(bbr);
	if (isinf(bbr->volume_low))
		bbr->volume_low = flows->window;
	bbr->rate_low = larger(BBR3_BETA * bbr->rate_low, bbr->rate_latest);
	bbr->volume_low = larger(BBR3_BETA * bbr->volume_low, bbr->volume_latest);
}

void
bbr3_update_signals(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;
	const struct ack *ack = sample->ack;

	bbr->loss_round = false;
	if (sample->rate <= 0)
		return;
	bbr->rate_latest = larger(bbr->rate_latest, sample->rate);
	bbr->volume_latest = larger(bbr->volume_latest, ack->delivered);
	if (ack->now - ack->rtt >= bbr->loss_round_start) {
		bbr->loss_round_start = ack->now;
		bbr->loss_round = true;
	}
	if (!sample->limited || sample->rate >= bbr3_best_rate(bbr))
		bbr->best[0] = larger(bbr->best[0], sample->rate);
	if (bbr->loss_round) {
		lower_short_term(flows);
		bbr->loss_in_round = false;
	}
}

/* The next round's best begins with what ended this one. */
void
bbr3_advance_signals(struct bbr3 *bbr, const struct bbr3_sample *sample)
{
	if (!bbr->loss_round)
		return;
	bbr->rate_latest = sample->rate;
	bbr->volume_latest = sample->ack->delivered;
}

/* In UP the long-term bound grows by 1, 2, 4... packets in successive rounds. */
void
bbr3_raise_slope(struct cohort *flows)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr->up_count = larger(1, flows->window / (double)(1u << bbr->up_rounds));
	if (bbr->up_rounds < MOST_DOUBLINGS)
		bbr->up_rounds++;
}

static enum bbr3_verdict
lower_long_term(struct cohort *flows, const struct bbr3_sample *sample, double volume)
{
	struct bbr3 *bbr = &flows->bbr3;

	bbr->too_high = true;
	bbr->probe_samples = false;
	if (!sample->limited)
		bbr->volume_high = larger(volume, BBR3_BETA * bbr3_target(flows));
	return BBR3_TOO_HIGH;
}

/* What was in flight when losses became too many, within the burst that was lost now. */
static double
volume_at_loss(const struct bbr3_sample *sample)
{
	double burst = sample->missed;
	double before = larger(0, sample->ack->sent_flight - burst);
	double lost = larger(0, sample->missed_since_sent - burst);
	double prefix = (BBR3_LOSS * before - lost) / (1 - BBR3_LOSS);

	return before + larger(0, smaller(prefix, burst));
}

enum bbr3_verdict
bbr3_note_losses(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;

	if (sample->missed <= 0)
		return BBR3_GO_ON;
	if (!bbr->loss_in_round)
		bbr->loss_round_start = sample->ack->now;
	bbr->loss_in_round = true;
	bbr->recovery_until = sample->ack->now + sample->ack->rtt;
	if (bbr->probe_samples && bbr3_too_lossy(sample))
		return lower_long_term(flows, sample, volume_at_loss(sample));
	return BBR3_GO_ON;
}

static void
probe_upward(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;

	if (!sample->held_by_bound)
		return;
	bbr->volume_high += sample->ack->acked / bbr->up_count;
	if (sample->ack->round)
		bbr3_raise_slope(flows);
}

static enum bbr3_verdict
adapt_volume_high(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;

	if (bbr3_too_lossy(sample))
		return bbr->probe_samples ?
			       lower_long_term(flows, sample, sample->ack->sent_flight) :
			       BBR3_GO_ON;
	if (isinf(bbr->volume_high))
		return BBR3_GO_ON;
	bbr->volume_high = larger(bbr->volume_high, sample->ack->sent_flight);
	if (bbr->mode == BBR3_UP)
		probe_upward(flows, sample);
	return BBR3_GO_ON;
}

/* The best rate of the cycle before the last is forgotten; a probe that was cautious comes again. */
static enum bbr3_verdict
end_probe(struct bbr3 *bbr, const struct bbr3_sample *sample)
{
	bbr->probe_samples = false;
	bbr->acks = BBR3_ACKS_INIT;
	if (!bbr3_in_cycle(bbr))
		return BBR3_GO_ON;
	if (!sample->limited && bbr->best[0] > 0) {
		bbr->best[1] = bbr->best[0];
		bbr->best[0] = 0;
	}
	return bbr->stopped_risky && !bbr->too_high ? BBR3_PROBE_AGAIN : BBR3_GO_ON;
}

enum bbr3_verdict
bbr3_adapt_long_term(struct cohort *flows, const struct bbr3_sample *sample)
{
	struct bbr3 *bbr = &flows->bbr3;
	bool round = sample->ack->round;

	if (bbr->acks == BBR3_ACKS_STARTING && round)
		bbr->acks = BBR3_ACKS_FEEDBACK;
	if (bbr->acks == BBR3_ACKS_STOPPING && round && end_probe(bbr, sample) == BBR3_PROBE_AGAIN)
		return BBR3_PROBE_AGAIN;
	return adapt_volume_high(flows, sample);
}
