/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What BBR makes of marks, which must be those of a queue that marks above a low threshold: bounds that
 * fall by a third of the share of marked segments, and probes that end where half are marked. Off
 * unless the file defines BBR_ECN, and on paths with a longer RTT than 5 ms.
 *
 * The version says whether half of them is too much (BBR_ECN_TOO_MUCH), whether the bandwidth falls
 * as well (BBR_ECN_CUTS_BW) and with how much more it probes when the marks cease
 * (BBR_ECN_REPROBE).
 */
#ifndef NASHBED_CC_BBR_ECN_H
#define NASHBED_CC_BBR_ECN_H

#include "path.h"

#define BBR_ECN_MAX_RTT_US 5000
#define BBR_ECN_ALPHA_GAIN 16 /* 1/16 */
#define BBR_ECN_FACTOR 85     /* 1/3 */
#define BBR_ECN_THRESH 128    /* 1/2 */
#define BBR_ECN_FULL_ROUNDS 2

/* Once a round trip, what share of it was marked; true where Startup has seen too much of it. */
CC_INLINE bool
bbr_update_ecn_alpha(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 delivered = tp->delivered - b->ecn_delivered, share;

	if (!BBR_ECN || !b->round_start)
		return false;
	b->ecn_eligible |= cc_has_ecn(sk) && b->min_rtt <= BBR_ECN_MAX_RTT_US;
	if (!b->ecn_eligible || !delivered)
		return false;
	share = cc_div((u64)(tp->delivered_ce - b->ecn_marked) * BBR_UNIT, delivered);
	b->ecn_alpha = ((BBR_UNIT - BBR_ECN_ALPHA_GAIN) * b->ecn_alpha) / BBR_UNIT +
		       BBR_ECN_ALPHA_GAIN * share / BBR_UNIT;
	b->ecn_alpha = min_t(u32, b->ecn_alpha, BBR_UNIT);
	b->ecn_delivered = tp->delivered;
	b->ecn_marked = tp->delivered_ce;
	b->ecn_rounds = share >= BBR_ECN_THRESH ? b->ecn_rounds + 1 : 0;
	return !b->full_reached && b->ecn_rounds >= BBR_ECN_FULL_ROUNDS;
}

/* Google's kernels say whether an acknowledgement had ECE (is_ece); others have counted it. */
CC_INLINE void
bbr_note_marks(struct bbr *b, const struct tcp_sock *tp)
{
	if (BBR_ECN)
		b->ecn_in_round |= b->ecn_eligible && tp->delivered_ce != b->ce;
	b->ce = tp->delivered_ce;
}

CC_INLINE bool
bbr_too_many_marks(const struct bbr *b, const struct rate_sample *rs)
{
	return BBR_ECN && b->ecn_eligible && rs->delivered > 0 && rs->delivered_ce > 0 &&
	       BBR_ECN_TOO_MUCH((u64)rs->delivered_ce * BBR_UNIT,
				(u64)rs->delivered * BBR_ECN_THRESH);
}

CC_INLINE u64
bbr_after_marks(const struct bbr *b, u64 value)
{
	return value * (BBR_UNIT - b->ecn_alpha * BBR_ECN_FACTOR / BBR_UNIT) / BBR_UNIT;
}

/* At the end of a round with marks that does not probe; `lost` is what losses made of the bounds. */
CC_INLINE void
bbr_ecn_lower_bounds(struct bbr *b, u32 inflight_lo, u64 bw_lo)
{
	b->inflight_lo = min_t(u32, b->inflight_lo, bbr_after_marks(b, inflight_lo));
	if (BBR_ECN_CUTS_BW)
		b->bw_lo = min_t(u64, b->bw_lo, max_t(u64, bbr_after_marks(b, bw_lo), 1));
}

/* A probe had too much. */
CC_INLINE void
bbr_ecn_lower_bw_hi(struct bbr *b)
{
	if (BBR_ECN && BBR_ECN_CUTS_BW && b->ecn_eligible && !b->probed_well) {
		u64 most = b->bw_hi == BBR_NO_BW ? bbr_max_bw(b) : b->bw_hi;

		b->bw_hi = max_t(u64, bbr_after_marks(b, most), 1);
	}
}

/* Marks and no losses in this cycle, and now no mark any more: others may have left. */
CC_INLINE bool
bbr_may_reprobe(struct sock *sk, const struct bbr *b)
{
	return BBR_ECN && BBR_ECN_REPROBE > 0 && b->ecn_eligible && b->ecn_in_cycle &&
	       !b->loss_in_cycle && cc_ca_state(sk) == TCP_CA_Open;
}

/* The exponent of the largest power of two that is no more than value. */
CC_INLINE u32
bbr_log2(u32 value)
{
	u32 log = 0, step;

	for (step = 16; step; step /= 2) {
		if (value >> step) {
			value >>= step;
			log += step;
		}
	}
	return log;
}

/* The round of a probe in which inflight_hi grows by this share of itself. */
CC_INLINE u32
bbr_reprobe_rounds(const struct bbr *b)
{
	u32 more = (u32)((u64)b->inflight_hi * BBR_ECN_REPROBE / BBR_UNIT);

	return min_t(u32, bbr_log2(more), 30);
}

CC_INLINE void
bbr_note_cycle(struct bbr *b, const struct rate_sample *rs, const struct bbr_sample *s)
{
	b->loss_in_cycle |= s->lost > 0 || s->newly_lost > 0;
	b->ecn_in_cycle |= rs->delivered_ce > 0;
}

#endif
