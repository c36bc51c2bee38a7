/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBR version 3.
 *
 * N. Cardwell, I. Swett, J. Beshay (editors): "BBR Congestion Control", draft-ietf-ccwg-bbr; the order
 * of its steps as in Google's implementation (github:google/bbr, branch v3). Written from these; no
 * code is theirs. Sources of the constants and deviations: README.md here.
 */
#ifdef BBR_ECN
#define CC_FLAGS TCP_CONG_NEEDS_ECN
#endif
#include "cc.h"

#define BBR_STARTUP_PACING 710 /* 4 ln 2 = 2.773 */
#define BBR_STARTUP_CWND 512   /* 2 */
#ifndef BBR_DRAIN_PACING
#define BBR_DRAIN_PACING 128 /* 0.5 */
#endif
#define BBR_DOWN_PACING 230    /* 0.90 */
#define BBR_UP_CWND 576	       /* 2.25 */
#define BBR_FULL_LOSS_COUNT 6
#define BBR_SAVES_UP_ACKS true
#define BBR_ECN_TOO_MUCH(marked, limit) ((marked) > (limit))
#define BBR_ECN_CUTS_BW false
#define BBR_ECN_REPROBE 128 /* 1/2 */
#define BBR_DRAIN_ROUNDS 3

#include "bbr/full_pipe.h"
#include "bbr/path.h"
#include "bbr/phases.h"

/* At each acknowledgement, by its own sample, in Startup and in UP. */
CC_INLINE void
bbr_check_full(struct bbr *b, const struct rate_sample *rs, const struct bbr_sample *s)
{
	if (!b->full_now && !rs->is_app_limited)
		bbr_check_full_bw(b, s->bw);
}

/* The bandwidth has stopped growing, and not because inflight_hi holds it. */
CC_INLINE bool
bbr_has_probed_enough(struct sock *sk, struct bbr *b, const struct bbr_sample *s, u32 inflight)
{
	struct tcp_sock *tp = cc_tcp(sk);

	if (cc_is_cwnd_limited(tp) && tp->snd_cwnd >= b->inflight_hi) {
		bbr_watch_full_bw(b, s->bw);
		return false;
	}
	return b->full_now;
}

CC_INLINE u32
bbr_startup_inflight(struct sock *sk, const struct bbr *b)
{
	return max_t(u32, bbr_inflight(sk, b, bbr_max_bw(b), BBR_UNIT), b->inflight_latest);
}

/* Others may have made the bandwidth look larger than it is: the cycle will correct it. */
CC_INLINE bool
bbr_has_drained_enough(const struct bbr *b)
{
	return b->drain_rounds > BBR_DRAIN_ROUNDS;
}

/* The losses that ended a probe were none: probe again. */
CC_INLINE void
bbr_undo_probe(struct bbr *b, const struct tcp_sock *tp)
{
	if (b->undo_mode == BBR_STARTUP) {
		b->full_reached = false;
		if (b->mode != BBR_PROBE_RTT)
			b->mode = BBR_STARTUP;
	} else if (b->undo_mode == BBR_UP && bbr_in_cycle(b) && b->mode != BBR_UP) {
		bbr_start_refill(b, tp);
	}
}

#include "bbr/callbacks.h"
