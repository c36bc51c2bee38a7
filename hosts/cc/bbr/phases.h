/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How each phase of a ProbeBW cycle begins. */
#ifndef NASHBED_CC_BBR_PHASES_H
#define NASHBED_CC_BBR_PHASES_H

#include "full_pipe.h"
#include "short_term.h"

/* In UP inflight_hi grows by 1, 2, 4... segments in successive rounds. */
CC_INLINE void
bbr_raise_slope(struct bbr *b, u32 cwnd)
{
	u32 growth = 1u << min_t(u32, b->up_rounds, 30);

	b->up_rounds = min_t(u32, b->up_rounds + 1, 30);
	b->up_count = max_t(u32, cwnd / growth, 1);
}

CC_INLINE void
bbr_start_down(struct bbr *b, const struct tcp_sock *tp)
{
	bbr_reset_signals(b);
	b->up_count = BBR_NO_LIMIT;
	b->rounds_since_probe = cc_random() & 1;
	b->wait_us = BBR_PROBE_WAIT_US + cc_random() % BBR_PROBE_WAIT_RANDOM_US;
	b->cycle_at = tp->tcp_mstamp;
	b->acks = BBR_ACKS_STOPPING;
	bbr_start_round(b, tp);
	b->mode = BBR_DOWN;
}

CC_INLINE void
bbr_start_cruise(struct bbr *b)
{
	if (b->inflight_lo != BBR_NO_LIMIT)
		b->inflight_lo = min(b->inflight_lo, b->inflight_hi);
	b->mode = BBR_CRUISE;
}

CC_INLINE void
bbr_start_refill(struct bbr *b, const struct tcp_sock *tp)
{
	bbr_reset_short_term(b);
	b->up_rounds = 0;
	b->up_acked = 0;
	b->stopped_risky = false;
	b->probed_well = false;
	b->acks = BBR_ACKS_REFILLING;
	bbr_start_round(b, tp);
	b->mode = BBR_REFILL;
}

CC_INLINE void
bbr_start_up(struct bbr *b, const struct tcp_sock *tp, u64 bw)
{
	b->acks = BBR_ACKS_STARTING;
	bbr_start_round(b, tp);
	b->cycle_at = tp->tcp_mstamp;
	bbr_watch_full_bw(b, bw);
	b->mode = BBR_UP;
	bbr_raise_slope(b, tp->snd_cwnd);
}

#endif
