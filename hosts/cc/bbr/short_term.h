/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The short-term model: the best of the latest round, and bounds of rate and volume (bw_lo, inflight_lo)
 * that each round with losses lowers while it does not probe, to 0.7 or to what the round delivered.
 */
#ifndef NASHBED_CC_BBR_SHORT_TERM_H
#define NASHBED_CC_BBR_SHORT_TERM_H

#include "ecn.h"

CC_INLINE void
bbr_reset_short_term(struct bbr *b)
{
	b->bw_lo = BBR_NO_BW;
	b->inflight_lo = BBR_NO_LIMIT;
}

CC_INLINE void
bbr_reset_signals(struct bbr *b)
{
	b->loss_in_round = false;
	b->ecn_in_round = false;
	b->loss_in_cycle = false;
	b->ecn_in_cycle = false;
	b->bw_latest = 0;
	b->inflight_latest = 0;
}

CC_INLINE void
bbr_loss_lower_bounds(struct bbr *b)
{
	u64 bw;
	u32 inflight;

	bw = cc_div(b->bw_lo * BBR_BETA_PERCENT, 100);
	bw = max(bw, b->bw_latest);
	b->bw_lo = max_t(u64, bw, 1);
	inflight = bbr_percent(b->inflight_lo, BBR_BETA_PERCENT);
	b->inflight_lo = max(inflight, b->inflight_latest);
}

CC_INLINE void
bbr_lower_bounds(struct bbr *b, u32 cwnd)
{
	u32 inflight;
	u64 bw;

	if (bbr_is_probing(b) || (!b->loss_in_round && !b->ecn_in_round))
		return;
	if (b->bw_lo == BBR_NO_BW && (b->loss_in_round || BBR_ECN_CUTS_BW))
		b->bw_lo = bbr_max_bw(b);
	if (b->inflight_lo == BBR_NO_LIMIT)
		b->inflight_lo = cwnd;
	inflight = b->inflight_lo;
	bw = b->bw_lo;
	if (b->loss_in_round)
		bbr_loss_lower_bounds(b);
	if (b->ecn_in_round)
		bbr_ecn_lower_bounds(b, inflight, bw);
}

/* Samples that the application limited count only where they are the best. */
CC_INLINE void
bbr_update_max_bw(struct bbr *b, u64 bw, bool app_limited)
{
	if (!app_limited || bw >= bbr_max_bw(b))
		b->bw_max[0] = max(b->bw_max[0], bw);
}

/* A new cycle: the last one's best stays, the one before is forgotten. */
CC_INLINE void
bbr_advance_max_bw(struct bbr *b)
{
	if (!b->bw_max[0])
		return;
	b->bw_max[1] = b->bw_max[0];
	b->bw_max[0] = 0;
}

CC_INLINE void
bbr_update_signals(struct sock *sk, struct bbr *b, const struct rate_sample *rs,
		   const struct bbr_sample *s)
{
	struct tcp_sock *tp = cc_tcp(sk);

	b->loss_round_start = false;
	if (!s->bw || !rs->acked_sacked)
		return;
	/* Those that ended UP, too: bbr_start_down has forgotten them. */
	b->loss_in_round |= s->newly_lost > 0;
	b->bw_latest = max(b->bw_latest, s->bw);
	b->inflight_latest = max_t(u32, b->inflight_latest, rs->delivered);
	if (!cc_before(rs->prior_delivered, b->loss_round_end)) {
		b->loss_round_end = tp->delivered;
		b->loss_round_start = true;
	}
	bbr_update_max_bw(b, s->bw, rs->is_app_limited);
	if (b->loss_round_start) {
		bbr_lower_bounds(b, tp->snd_cwnd);
		b->loss_in_round = false;
		b->ecn_in_round = false;
	}
}

/* At the end of an acknowledgement that ends a round: the next one's best begins with it. */
CC_INLINE void
bbr_advance_signals(struct bbr *b, const struct rate_sample *rs, const struct bbr_sample *s)
{
	if (!b->loss_round_start)
		return;
	b->bw_latest = s->bw;
	b->inflight_latest = max_t(s32, rs->delivered, 0);
}

#endif
