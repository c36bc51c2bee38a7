/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The path as BBR estimates it: what fills it, and what is in it. */
#ifndef NASHBED_CC_BBR_PATH_H
#define NASHBED_CC_BBR_PATH_H

#include "state.h"

CC_INLINE u32
bbr_mss(const struct tcp_sock *tp)
{
	return max_t(u32, tp->mss_cache, 1);
}

/* Segments that `bytes` are, at most what a window can be. */
CC_INLINE u32
bbr_segments(const struct tcp_sock *tp, u64 bytes)
{
	return min_t(u64, cc_div(bytes, bbr_mss(tp)), BBR_NO_LIMIT - 1);
}

/* Segments that a rate makes in a time. */
CC_INLINE u32
bbr_volume(const struct tcp_sock *tp, u64 bw, u64 us)
{
	return bbr_segments(tp, cc_div(bw * us, USEC_PER_SEC));
}

/* Segments that fill the path at `bw` for `gain` round trips, rounded up. */
CC_INLINE u32
bbr_bdp(const struct tcp_sock *tp, const struct bbr *b, u64 bw, u32 gain)
{
	u64 bytes;

	if (b->min_rtt == BBR_NO_LIMIT)
		return b->init_cwnd;
	bytes = cc_div(bw * b->min_rtt, USEC_PER_SEC) * gain / BBR_UNIT;
	return bbr_segments(tp, bytes + bbr_mss(tp) - 1);
}

/* One burst as the kernel makes it: a millisecond of the pacing rate, more where the RTT is short. */
CC_INLINE u32
bbr_quantum(const struct tcp_sock *tp, const struct sock *sk, const struct bbr *b)
{
	u64 bytes = sk->sk_pacing_rate >> 10;
	u32 halvings = b->min_rtt >> 9;

	if (halvings < 16)
		bytes += 65536 >> halvings;
	return max_t(u32, bbr_segments(tp, min_t(u64, bytes, 65536)), 2);
}

/* With enough for three bursts on their way through the two hosts. */
CC_INLINE u32
bbr_with_budget(struct sock *sk, const struct bbr *b, u32 segments)
{
	segments = max(segments, 3 * bbr_quantum(cc_tcp(sk), sk, b));
	segments = max_t(u32, segments, BBR_MIN_CWND);
	return b->mode == BBR_UP ? segments + 2 : segments;
}

CC_INLINE u32
bbr_inflight(struct sock *sk, const struct bbr *b, u64 bw, u32 gain)
{
	return bbr_with_budget(sk, b, bbr_bdp(cc_tcp(sk), b, bw, gain));
}

/* What it wants in flight: the BDP, unless congestion has cut the window. */
CC_INLINE u32
bbr_target_inflight(struct sock *sk, const struct bbr *b)
{
	return min_t(u32, bbr_inflight(sk, b, bbr_bw(b), BBR_UNIT), cc_tcp(sk)->snd_cwnd);
}

CC_INLINE u32
bbr_inflight_with_headroom(const struct bbr *b)
{
	u32 headroom;

	if (b->inflight_hi == BBR_NO_LIMIT)
		return BBR_NO_LIMIT;
	headroom = max_t(u32, bbr_percent(b->inflight_hi, BBR_HEADROOM_PERCENT), 1);
	if (b->inflight_hi < headroom + BBR_MIN_CWND)
		return BBR_MIN_CWND;
	return b->inflight_hi - headroom;
}

/* What is in the network, not in the hands of the pacer, when the next segment leaves. */
CC_INLINE u32
bbr_in_network(struct sock *sk, const struct bbr *b, u32 inflight)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u64 now = tp->tcp_clock_cache, departs = tp->tcp_wstamp_ns, us = 0;
	u32 gone;

	if (departs > now)
		us = min_t(u64, cc_div(departs - now, 1000), USEC_PER_SEC);
	gone = bbr_volume(tp, bbr_bw(b), us);
	if (b->pacing_gain > BBR_UNIT)
		inflight += bbr_quantum(tp, sk, b);
	return gone >= inflight ? 0 : inflight - gone;
}

#endif
