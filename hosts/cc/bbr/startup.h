/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Startup and Drain. The version says which losses end Startup (BBR_FULL_LOSS_COUNT), what it takes
 * for the pipe then (bbr_startup_inflight) and when Drain gives up (bbr_has_drained_enough).
 */
#ifndef NASHBED_CC_BBR_STARTUP_H
#define NASHBED_CC_BBR_STARTUP_H

#include "long_term.h"

/* At the end of a round in recovery with losses often and many. */
CC_INLINE void
bbr_check_startup_losses(struct sock *sk, struct bbr *b, const struct bbr_sample *s)
{
	if (b->full_reached)
		return;
	if (s->newly_lost)
		b->loss_events = min_t(u32, b->loss_events + 1, 15);
	if (!b->loss_round_start)
		return;
	if (cc_ca_state(sk) == TCP_CA_Recovery && b->loss_events >= BBR_FULL_LOSS_COUNT &&
	    bbr_too_lossy(s)) {
		b->full_reached = true;
		b->undo_mode = BBR_STARTUP;
		b->inflight_hi = bbr_startup_inflight(sk, b);
	}
	b->loss_events = 0;
}

/* At the end of a round: marks show that the pipe is full. */
CC_INLINE void
bbr_check_startup_marks(struct sock *sk, struct bbr *b)
{
	if (!bbr_update_ecn_alpha(sk, b))
		return;
	b->full_reached = true;
	b->inflight_hi = bbr_startup_inflight(sk, b);
}

CC_INLINE void
bbr_check_drain(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 bdp = bbr_inflight(sk, b, bbr_max_bw(b), BBR_UNIT);

	if (b->mode == BBR_STARTUP && b->full_reached) {
		b->mode = BBR_DRAIN;
		b->drain_rounds = 0;
		cc_set_ssthresh(sk, bdp); /* for ss(8): Startup is over */
		bbr_reset_signals(b);
	}
	if (b->mode == BBR_DRAIN &&
	    (bbr_in_network(sk, b, tcp_packets_in_flight(tp)) <= bdp || bbr_has_drained_enough(b)))
		bbr_start_down(b, tp);
}

#endif
