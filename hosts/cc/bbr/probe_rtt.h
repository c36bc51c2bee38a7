/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The path's RTT without a queue, and ProbeRTT: 5 s after the last lower sample, half a BDP in flight
 * for 200 ms and a round.
 */
#ifndef NASHBED_CC_BBR_PROBE_RTT_H
#define NASHBED_CC_BBR_PROBE_RTT_H

#include "path.h"
#include "phases.h"

/* The last window that was not cut by recovery or ProbeRTT. */
CC_INLINE void
bbr_save_cwnd(struct bbr *b, const struct tcp_sock *tp)
{
	u32 cwnd = tp->snd_cwnd;

	if (b->ca_state >= TCP_CA_Recovery || b->mode == BBR_PROBE_RTT)
		cwnd = max(cwnd, b->prior_cwnd);
	b->prior_cwnd = cwnd;
}

CC_INLINE void
bbr_restore_cwnd(struct sock *sk, const struct bbr *b)
{
	cc_set_cwnd(sk, max_t(u32, cc_tcp(sk)->snd_cwnd, b->prior_cwnd));
}

CC_INLINE u32
bbr_probe_rtt_cwnd(const struct tcp_sock *tp, const struct bbr *b)
{
	return max_t(u32, bbr_bdp(tp, b, bbr_bw(b), BBR_PROBE_RTT_CWND), BBR_MIN_CWND);
}

/* Into the cycle where the pipe was full once, and past DOWN, for the queue is drained. */
CC_INLINE void
bbr_exit_probe_rtt(struct bbr *b, const struct tcp_sock *tp)
{
	bbr_reset_short_term(b);
	if (!b->full_reached) {
		b->mode = BBR_STARTUP;
		return;
	}
	bbr_start_down(b, tp);
	bbr_start_cruise(b);
}

CC_INLINE void
bbr_check_probe_rtt_done(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = cc_tcp(sk);

	if (!b->probe_rtt_until || tp->tcp_mstamp <= b->probe_rtt_until)
		return;
	b->probe_min_at = tp->tcp_mstamp;
	bbr_restore_cwnd(sk, b);
	bbr_exit_probe_rtt(b, tp);
}

CC_INLINE void
bbr_enter_probe_rtt(struct bbr *b, const struct tcp_sock *tp)
{
	bbr_save_cwnd(b, tp);
	b->mode = BBR_PROBE_RTT;
	b->probe_rtt_until = 0;
	b->acks = BBR_ACKS_STOPPING;
	bbr_start_round(b, tp);
}

CC_INLINE void
bbr_handle_probe_rtt(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = cc_tcp(sk);

	cc_mark_app_limited(sk); /* for the max filter: these samples are low by intention */
	if (b->probe_rtt_until) {
		b->rtt_round_done |= b->round_start;
		if (b->rtt_round_done)
			bbr_check_probe_rtt_done(sk, b);
	} else if (tcp_packets_in_flight(tp) <= bbr_probe_rtt_cwnd(tp, b)) {
		b->probe_rtt_until = tp->tcp_mstamp + BBR_PROBE_RTT_TIME_US;
		b->rtt_round_done = false;
		bbr_start_round(b, tp);
	}
}

/* True where ProbeRTT is due. */
CC_INLINE bool
bbr_filter_min_rtt(struct bbr *b, u64 now, const struct rate_sample *rs)
{
	bool due = now > b->probe_min_at + BBR_PROBE_RTT_EVERY_US;
	u32 rtt = rs->rtt_us;

	if (rs->rtt_us >= 0 && (rtt < b->probe_min || (due && !rs->is_ack_delayed))) {
		b->probe_min = rtt;
		b->probe_min_at = now;
	}
	if (b->probe_min <= b->min_rtt || now > b->min_rtt_at + BBR_MIN_RTT_WINDOW_US) {
		b->min_rtt = b->probe_min;
		b->min_rtt_at = b->probe_min_at;
	}
	return due;
}

CC_INLINE void
bbr_update_min_rtt(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	bool due = bbr_filter_min_rtt(b, tp->tcp_mstamp, rs);

	if (due && !b->idle_restart && b->mode != BBR_PROBE_RTT)
		bbr_enter_probe_rtt(b, tp);
	if (b->mode == BBR_PROBE_RTT)
		bbr_handle_probe_rtt(sk, b);
	if (rs->delivered > 0)
		b->idle_restart = false;
}

#endif
