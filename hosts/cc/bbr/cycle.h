/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ProbeBW's cycle: DOWN, CRUISE, REFILL, UP. The version says when UP has seen enough
 * (bbr_has_probed_enough).
 */
#ifndef NASHBED_CC_BBR_CYCLE_H
#define NASHBED_CC_BBR_CYCLE_H

#include "long_term.h"

/* 2 to 3 s after the last probe, or as often as a Reno flow of this BDP would lose. */
CC_INLINE bool
bbr_is_time_to_probe(struct sock *sk, const struct bbr *b)
{
	u32 rounds = min_t(u32, bbr_target_inflight(sk, b), BBR_PROBE_MAX_ROUNDS);

	return cc_tcp(sk)->tcp_mstamp - b->cycle_at > b->wait_us || b->rounds_since_probe >= rounds;
}

CC_INLINE bool
bbr_is_time_to_cruise(struct sock *sk, const struct bbr *b, u32 inflight)
{
	return inflight <= bbr_inflight_with_headroom(b) &&
	       inflight <= bbr_inflight(sk, b, bbr_max_bw(b), BBR_UNIT);
}

CC_INLINE void
bbr_update_up(struct sock *sk, struct bbr *b, const struct bbr_sample *s, u32 inflight)
{
	if (b->too_high && inflight >= b->inflight_hi)
		b->stopped_risky = true;
	else if (!bbr_has_probed_enough(sk, b, s, inflight))
		return;
	b->too_high = false;
	bbr_start_down(b, cc_tcp(sk));
}

CC_INLINE void
bbr_update_cycle(struct sock *sk, struct bbr *b, const struct rate_sample *rs,
		 const struct bbr_sample *s)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 inflight;

	if (!b->full_reached || bbr_adapt_long_term(sk, b, rs, s) || !bbr_in_cycle(b))
		return;
	inflight = bbr_in_network(sk, b, rs->prior_in_flight);
	if (b->mode == BBR_UP) {
		bbr_update_up(sk, b, s, inflight);
	} else if (b->mode == BBR_REFILL) {
		if (b->round_start) {
			b->probe_samples = true;
			bbr_start_up(b, tp, s->bw);
		}
	} else if (bbr_may_reprobe(sk, b)) {
		bbr_start_refill(b, tp);
		b->up_rounds = bbr_reprobe_rounds(b);
	} else if (bbr_is_time_to_probe(sk, b)) {
		bbr_start_refill(b, tp);
	} else if (b->mode == BBR_DOWN && bbr_is_time_to_cruise(sk, b, inflight)) {
		bbr_start_cruise(b);
	}
}

#endif
