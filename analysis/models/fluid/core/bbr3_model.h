/* SPDX-License-Identifier: Apache-2.0 */
/* What BBR versions 2 and 3 believe of the path, and the phases that they probe it in. */
#ifndef BBR3_MODEL_H
#define BBR3_MODEL_H

#include "bbr_common.h"

#include <math.h>

/* Of what was in flight: more is too much. */
#define BBR3_LOSS 0.02
/* What is kept of a volume or a rate that was too high. */
#define BBR3_BETA 0.7
/* Of the long-term bound, left to others while cruising. */
#define BBR3_HEADROOM 0.15
#define BBR3_UP_PACING 1.25

/* What came back in one slot, with losses in whole packets. */
struct bbr3_sample {
	const struct ack *ack;
	double rate;
	double missed;
	double missed_since_sent;
	/* In flight before it, and what pacing above the rate adds at once. */
	double in_network;
	bool limited;
	/* The window, at the long-term bound, was what limited sending. */
	bool held_by_bound;
};

static inline double
bbr3_best_rate(const struct bbr3 *bbr)
{
	return larger(bbr->best[0], bbr->best[1]);
}

static inline double
bbr3_rate(const struct bbr3 *bbr)
{
	return smaller(bbr3_best_rate(bbr), bbr->rate_low);
}

static inline bool
bbr3_in_cycle(const struct bbr3 *bbr)
{
	return bbr->mode >= BBR3_DOWN && bbr->mode <= BBR3_UP;
}

/* Losses while it probes are the probe's, and do not lower the short-term bounds. */
static inline bool
bbr3_is_probing(const struct bbr3 *bbr)
{
	return bbr->mode == BBR3_STARTUP || bbr->mode == BBR3_REFILL || bbr->mode == BBR3_UP;
}

static inline double
bbr3_burst(const struct cohort *flows)
{
	double paced = flows->pacing_rate / BBR_BURSTS_PER_SECOND;

	return larger(2, smaller(paced, BBR_MOST_SEGMENTS));
}

/* Three bursts always fit. */
static inline double
bbr3_with_budget(const struct cohort *flows, double volume)
{
	volume = larger(volume, BBR_BURSTS_ALLOWED * bbr3_burst(flows));
	return flows->bbr3.mode == BBR3_UP ? volume + BBR_PROBE_EXTRA : volume;
}

static inline double
bbr3_inflight(const struct cohort *flows, double rate, double gain)
{
	return bbr3_with_budget(flows, gain * rate * flows->bbr3.min_rtt);
}

static inline double
bbr3_target(const struct cohort *flows)
{
	return smaller(bbr3_inflight(flows, bbr3_rate(&flows->bbr3), 1), flows->window);
}

static inline double
bbr3_with_headroom(const struct bbr3 *bbr)
{
	double left = bbr->volume_high - larger(1, BBR3_HEADROOM * bbr->volume_high);

	return isinf(bbr->volume_high) ? INFINITY : larger(BBR_LEAST_WINDOW, left);
}

static inline bool
bbr3_too_lossy(const struct bbr3_sample *sample)
{
	return sample->missed_since_sent > BBR3_LOSS * sample->ack->sent_flight &&
	       sample->ack->sent_flight > 0;
}

/* What the bounds find in a sample, for the cycle to act on. */
enum bbr3_verdict {
	BBR3_GO_ON,
	BBR3_TOO_HIGH,	  /* too many losses: a probe ends */
	BBR3_PROBE_AGAIN, /* the last probe was cautious, and without need: another follows at once */
};

/* bbr3_bounds.c: the short-term and the long-term bounds. They know nothing of the cycle. */
void bbr3_reset_short_term(struct bbr3 *bbr);
void bbr3_reset_signals(struct bbr3 *bbr);
void bbr3_raise_slope(struct cohort *flows);
enum bbr3_verdict bbr3_note_losses(struct cohort *flows, const struct bbr3_sample *sample);
void bbr3_update_signals(struct cohort *flows, const struct bbr3_sample *sample);
void bbr3_advance_signals(struct bbr3 *bbr, const struct bbr3_sample *sample);
enum bbr3_verdict bbr3_adapt_long_term(struct cohort *flows, const struct bbr3_sample *sample);

/* bbr3_cycle.c: the phases of ProbeBW. */
void bbr3_start_down(struct cohort *flows, double now);
void bbr3_start_cruise(struct bbr3 *bbr);
void bbr3_act(struct cohort *flows, enum bbr3_verdict verdict, double now);
void bbr3_update_cycle(struct cohort *flows, const struct bbr3_sample *sample);

#endif
