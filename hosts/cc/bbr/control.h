/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* From the model to pacing rate and window. */
#ifndef NASHBED_CC_BBR_CONTROL_H
#define NASHBED_CC_BBR_CONTROL_H

#include "aggregation.h"
#include "probe_rtt.h"

CC_INLINE u32
bbr_pacing_gain(u32 mode)
{
	switch (mode) {
	case BBR_STARTUP:
		return BBR_STARTUP_PACING;
	case BBR_DRAIN:
		return BBR_DRAIN_PACING;
	case BBR_DOWN:
		return BBR_DOWN_PACING;
	case BBR_UP:
		return BBR_UP_PACING;
	}
	return BBR_UNIT;
}

CC_INLINE u32
bbr_cwnd_gain(u32 mode)
{
	switch (mode) {
	case BBR_STARTUP:
	case BBR_DRAIN:
		return BBR_STARTUP_CWND;
	case BBR_UP:
		return BBR_UP_CWND;
	case BBR_PROBE_RTT:
		return BBR_PROBE_RTT_CWND;
	}
	return BBR_CWND_GAIN;
}

CC_INLINE void
bbr_set_gains(struct bbr *b)
{
	b->pacing_gain = bbr_pacing_gain(b->mode);
	b->cwnd_gain = bbr_cwnd_gain(b->mode);
}

/* Until there is a bandwidth: the first window in an RTT. */
CC_INLINE void
bbr_set_first_pacing(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 rtt = tp->srtt_us >> 3;
	u64 bytes = (u64)tp->snd_cwnd * tp->mss_cache;

	b->seen_rtt = rtt > 0;
	cc_set_rate(sk, cc_div(bytes * USEC_PER_SEC, rtt ? rtt : USEC_PER_MSEC) *
				BBR_STARTUP_PACING / BBR_UNIT);
}

/* One percent below, so that queues go down; in Startup the rate only grows. */
CC_INLINE void
bbr_set_pacing(struct sock *sk, struct bbr *b, u32 gain)
{
	u64 rate = cc_div(bbr_bw(b) * gain / BBR_UNIT * BBR_PACING_PERCENT, 100);

	if (!b->seen_rtt && cc_tcp(sk)->srtt_us)
		bbr_set_first_pacing(sk, b);
	if (b->full_reached || rate > sk->sk_pacing_rate)
		cc_set_rate(sk, rate);
}

/* Towards the model's window by what was acknowledged; down to it at once where the pipe was full. */
CC_INLINE u32
bbr_next_cwnd(struct sock *sk, const struct bbr *b, u32 acked)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 cwnd = tp->snd_cwnd, most;

	if (!acked)
		return cwnd;
	most = bbr_bdp(tp, b, bbr_bw(b), b->cwnd_gain) + bbr_aggregation(tp, b);
	most = bbr_with_budget(sk, b, most);
	if (b->full_reached)
		cwnd = min(cwnd + acked, most);
	else if (cwnd < most || cwnd < 2 * b->init_cwnd)
		cwnd += acked;
	return max_t(u32, cwnd, BBR_MIN_CWND);
}

CC_INLINE u32
bbr_cwnd_cap(const struct bbr *b)
{
	u32 cap = BBR_NO_LIMIT;

	if (b->mode == BBR_CRUISE || b->mode == BBR_PROBE_RTT)
		cap = bbr_inflight_with_headroom(b);
	else if (bbr_in_cycle(b))
		cap = b->inflight_hi;
	cap = min(cap, b->inflight_lo);
	return max_t(u32, cap, BBR_MIN_CWND);
}

CC_INLINE void
bbr_set_cwnd(struct sock *sk, const struct bbr *b, u32 acked)
{
	u32 cwnd = bbr_next_cwnd(sk, b, acked), cap = bbr_cwnd_cap(b);

	if (b->mode == BBR_PROBE_RTT)
		cap = min(cap, bbr_probe_rtt_cwnd(cc_tcp(sk), b));
	cc_set_cwnd(sk, min(cwnd, cap));
}

CC_INLINE void
bbr_tell(struct bbr *b)
{
	b->told.bw = bbr_bw(b);
	b->told.min_rtt_us = b->min_rtt == BBR_NO_LIMIT ? 0 : b->min_rtt;
	b->told.pacing_gain = b->pacing_gain;
	b->told.cwnd_gain = b->cwnd_gain;
	b->told.mode = b->mode;
}

#endif
