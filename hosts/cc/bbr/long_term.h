/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The long-term bound of what may be in flight, inflight_hi: probing lowers it to where losses began,
 * and raises it where there were none. The version says whether acknowledgements count towards a
 * higher one while it does not bind (BBR_SAVES_UP_ACKS).
 */
#ifndef NASHBED_CC_BBR_LONG_TERM_H
#define NASHBED_CC_BBR_LONG_TERM_H

#include "path.h"
#include "phases.h"
#include "sample.h"

CC_INLINE void
bbr_lower_inflight_hi(struct bbr *b, u32 inflight)
{
	b->inflight_hi = inflight;
	bbr_ecn_lower_bw_hi(b);
}

/* Once a probe: it lost too much with this in flight. */
CC_INLINE void
bbr_handle_too_high(struct sock *sk, struct bbr *b, bool app_limited, u32 inflight)
{
	u32 least = bbr_percent(bbr_target_inflight(sk, b), BBR_BETA_PERCENT);

	b->too_high = true;
	b->probe_samples = false;
	if (!app_limited)
		bbr_lower_inflight_hi(b, max(inflight, least));
	if (b->mode != BBR_UP)
		return;
	b->undo_mode = BBR_UP;
	bbr_start_down(b, cc_tcp(sk));
}

/* How much was in flight when the losses passed the limit, within the burst that was lost: the least
 * prefix with (lost before + prefix) >= limit x (in flight before + prefix).
 */
CC_INLINE u32
bbr_inflight_at_loss(const struct bbr_sample *s)
{
	u32 burst = s->newly_lost;
	u32 before = s->inflight > burst ? s->inflight - burst : 0;
	u32 lost = s->lost > burst ? s->lost - burst : 0;
	u64 budget = cc_div((u64)before * BBR_LOSS_PERCENT + 99, 100);
	u64 prefix;

	if (lost >= budget)
		return before;
	prefix = cc_div((budget - lost) * 100, 100 - BBR_LOSS_PERCENT);
	return before + min_t(u32, prefix, burst);
}

/* Segments were marked lost. The kernel does not say which: by the rules of RACK they were sent shortly
 * before the newest one acknowledged, whose row of the history stands for theirs, less what was sent
 * after the one that exceeded the limit.
 */
CC_INLINE void
bbr_note_losses(struct sock *sk, struct bbr *b, const struct rate_sample *rs,
		const struct bbr_sample *s)
{
	if (!s->newly_lost)
		return;
	if (!b->loss_in_round)
		b->loss_round_end = cc_tcp(sk)->delivered;
	b->loss_in_round = true;
	if (b->probe_samples && bbr_too_lossy(s))
		bbr_handle_too_high(sk, b, rs->is_app_limited, bbr_inflight_at_loss(s));
}

/* inflight_hi binds and nothing is lost: let it grow. */
CC_INLINE void
bbr_probe_upward(struct bbr *b, const struct tcp_sock *tp, u32 acked)
{
	u32 delta, count = max_t(u32, b->up_count, 1);

	if (!cc_is_cwnd_limited(tp) || tp->snd_cwnd < b->inflight_hi) {
		if (!BBR_SAVES_UP_ACKS)
			b->up_acked = 0;
		return;
	}
	b->up_acked += acked;
	delta = b->up_acked / count;
	b->up_acked -= delta * count;
	b->inflight_hi += delta;
	if (b->round_start)
		bbr_raise_slope(b, tp->snd_cwnd);
}

CC_INLINE void
bbr_adapt_inflight_hi(struct sock *sk, struct bbr *b, const struct rate_sample *rs,
		      const struct bbr_sample *s)
{
	if (bbr_too_lossy(s) || bbr_too_many_marks(b, rs)) {
		if (b->probe_samples)
			bbr_handle_too_high(sk, b, rs->is_app_limited, s->inflight);
		return;
	}
	b->probed_well |= b->probe_samples;
	if (b->bw_hi != BBR_NO_BW)
		b->bw_hi = max(b->bw_hi, s->bw);
	if (b->inflight_hi == BBR_NO_LIMIT)
		return;
	b->inflight_hi = max(b->inflight_hi, s->inflight);
	if (b->mode == BBR_UP)
		bbr_probe_upward(b, cc_tcp(sk), rs->acked_sacked);
}

/* A round after a probe its last samples are in. True where a probe that stopped at inflight_hi as a
 * precaution did no harm, and the next one starts at once.
 */
CC_INLINE bool
bbr_end_probe(struct bbr *b, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	b->probe_samples = false;
	b->acks = BBR_ACKS_INIT;
	if (!bbr_in_cycle(b))
		return false;
	if (!rs->is_app_limited)
		bbr_advance_max_bw(b);
	if (!b->stopped_risky || b->too_high)
		return false;
	bbr_start_refill(b, tp);
	return true;
}

/* True where it has decided what comes next. */
CC_INLINE bool
bbr_adapt_long_term(struct sock *sk, struct bbr *b, const struct rate_sample *rs,
		    const struct bbr_sample *s)
{
	if (b->acks == BBR_ACKS_STARTING && b->round_start)
		b->acks = BBR_ACKS_FEEDBACK;
	if (b->acks == BBR_ACKS_STOPPING && b->round_start && bbr_end_probe(b, cc_tcp(sk), rs))
		return true;
	bbr_adapt_inflight_hi(sk, b, rs, s);
	return false;
}

#endif
