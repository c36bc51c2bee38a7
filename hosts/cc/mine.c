/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A congestion control of your own: here additive increase and multiplicative decrease, once a round
 * trip, as Reno does (RFC 5681). Change what you like, and ask `nashbed cc check` what it does.
 */
#include "cc.h"

/* What it tells of itself with each sample of a run; numbers of your choice, from 1. */
enum mode {
	MODE_GROW = 1,
	MODE_CUT
};

struct mine {
	struct cc_told told;
	u32 acked;     /* segments since the window last grew */
	u32 round_end; /* tp->delivered that ends the round in which the window was cut */
};
CC_STATE(struct mine)

CC_OP(void, mine_init, struct sock *sk)
{
	cc_state_new(sk);
}

CC_INLINE u32
next_cwnd(struct mine *mine, struct tcp_sock *tp, const struct rate_sample *rs)
{
	u32 cwnd = tp->snd_cwnd;

	if (rs->losses > 0 && !cc_before(tp->delivered, mine->round_end)) {
		mine->round_end = tp->delivered + tcp_packets_in_flight(tp);
		return max(cwnd / 2, 2u);
	}
	mine->acked += rs->acked_sacked;
	if (!cc_is_cwnd_limited(tp) || mine->acked < cwnd)
		return cwnd;
	mine->acked = 0;
	return cwnd + 1;
}

CC_MAIN(mine_main, sk, rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct mine *mine = cc_state(sk);
	u64 window;

	if (!mine)
		return;
	cc_set_cwnd(sk, next_cwnd(mine, tp, rs));
	if (!tp->srtt_us) /* in 1/8 us; not measured yet */
		return;
	window = (u64)tp->snd_cwnd * tp->mss_cache;
	mine->told.bw = cc_div(window * 8 * USEC_PER_SEC, tp->srtt_us);
	mine->told.mode = cc_before(tp->delivered, mine->round_end) ? MODE_CUT : MODE_GROW;
	/* Twice the window in a round trip: the window governs, and bursts are smoothed. */
	cc_set_rate(sk, 2 * mine->told.bw);
}

CC_OP(u32, mine_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

CC_OP(u32, mine_undo_cwnd, struct sock *sk)
{
	return cc_tcp(sk)->snd_cwnd;
}

CC_REGISTER(.init = mine_init, .cong_control = mine_main, .ssthresh = mine_ssthresh,
	    .undo_cwnd = mine_undo_cwnd);
