/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBR version 2: what Mishra et al. (IMC 2022, figures 7 and 11) ran against CUBIC.
 *
 * N. Cardwell, Y. Cheng, S. Hassas Yeganeh, I. Swett, V. Jacobson: "BBR Congestion Control",
 * draft-cardwell-iccrg-bbr-congestion-control-02, March 2022; where it is silent, and for the gains,
 * Google's implementation (github:google/bbr, branch v2alpha) in its last form, which the kernel of the
 * L4S team carries (github:L4STeam/linux). Written from these; no code is theirs. Sources of the
 * constants, deviations, and what the v2alpha of 2019 to 2021 had: README.md here.
 */
#ifdef BBR_ECN
#define CC_FLAGS TCP_CONG_NEEDS_ECN
#endif
#include "cc.h"

#define BBR_STARTUP_PACING 739 /* 2/ln 2 = 2.885 */
#define BBR_STARTUP_CWND 739
#define BBR_DRAIN_PACING 88 /* its inverse */
#ifndef BBR_DOWN_PACING
#define BBR_DOWN_PACING 232 /* 0.91 */
#endif
#ifndef BBR_UP_CWND
#define BBR_UP_CWND 576 /* 2.25 */
#endif
#define BBR_FULL_LOSS_COUNT 8
#define BBR_SAVES_UP_ACKS false /* while inflight_hi does not bind */
#define BBR_ECN_TOO_MUCH(marked, limit) ((marked) >= (limit))
#define BBR_ECN_CUTS_BW true
#define BBR_ECN_REPROBE 0

#include "bbr/full_pipe.h"
#include "bbr/path.h"
#include "bbr/phases.h"

/* At each acknowledgement, by its own sample, in Startup only. */
CC_INLINE void
bbr_check_full(struct bbr *b, const struct rate_sample *rs, const struct bbr_sample *s)
{
	if (!b->full_reached && !rs->is_app_limited)
		bbr_check_full_bw(b, s->bw);
}

/* One RTT, and a quarter of a BDP queued. */
CC_INLINE bool
bbr_has_probed_enough(struct sock *sk, struct bbr *b, const struct bbr_sample *s, u32 inflight)
{
	return cc_tcp(sk)->tcp_mstamp - b->cycle_at > b->min_rtt &&
	       inflight >= bbr_inflight(sk, b, bbr_max_bw(b), BBR_UP_PACING);
}

CC_INLINE u32
bbr_startup_inflight(struct sock *sk, const struct bbr *b)
{
	return bbr_inflight(sk, b, bbr_max_bw(b), BBR_UNIT);
}

CC_INLINE bool
bbr_has_drained_enough(const struct bbr *b)
{
	return false;
}

CC_INLINE void
bbr_undo_probe(struct bbr *b, const struct tcp_sock *tp)
{
}

#include "bbr/callbacks.h"
