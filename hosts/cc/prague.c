/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* TCP Prague: congestion control for low queueing delay, which answers each mark a little.
 *
 * K. De Schepper, O. Tilmans, B. Briscoe, V. Goel: "Prague Congestion Control",
 * draft-briscoe-iccrg-prague-congestion-control; where it leaves a choice, the L4S team's
 * implementation (github:L4STeam/linux, tcp_prague.c). Written from these; no code is theirs. What
 * it needs of the kernel, and deviations: docs/reference/prague.md.
 */
#define CC_FLAGS (TCP_CONG_NEEDS_ECN | PRAGUE_ACCECN)
#include "cc.h"

#ifdef TCP_CONG_NEEDS_ACCECN /* kernels from 7.0 */
#define PRAGUE_ACCECN TCP_CONG_NEEDS_ACCECN
#else
#define PRAGUE_ACCECN 0
#endif

#define FRACTION_BITS 20
#define ONE (1ULL << FRACTION_BITS) /* a segment of the window; the share 1 */
#define GAIN_BITS 4		    /* of alpha's moving average: 1/16 */
#define VIRTUAL_RTT_US 25000	    /* a flow with a shorter RTT goes as one with this */
#define ROUNDS_UNTIL_THEN 500	    /* after slow start, so that short flows are not slowed */
#define MIN_CWND 2
#define BURST_SHIFT 12	/* a burst is 2^-12 s long at most */
#define HEADER_BYTES 52 /* IP, TCP and its timestamps */

/* What it tells as its mode. */
enum mode {
	MODE_SLOW_START = 1,
	MODE_AVOIDANCE,
	MODE_REDUCED, /* a mark has cut the window less than a virtual RTT ago */
	MODE_RECOVERY,
};

struct prague {
	struct cc_told told;
	struct cc_echo echo;
	u64 cwnd;	  /* with its fraction; the socket's follows it */
	u64 undo_cwnd;	  /* before the last losses */
	u64 alpha;	  /* share of marked segments, times 2^GAIN_BITS */
	u64 alpha_at;	  /* when it was last updated, us */
	u64 cut_at;	  /* when a mark last cut the window, us; 0: never */
	u32 cut_end;	  /* tp->snd_nxt then */
	u32 round_end;	  /* tp->snd_nxt when alpha was last updated */
	u32 delivered;	  /* tp->delivered then */
	u32 delivered_ce; /* tp->delivered_ce then */
	u32 ce;		  /* tp->delivered_ce at the last acknowledgement */
	u32 rounds;	  /* since slow start */
	bool has_seen_ce;
};
CC_STATE(struct prague)

CC_INLINE bool
in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether it goes as a flow with VIRTUAL_RTT_US does. Without ECN it is Reno. */
CC_INLINE bool
is_rtt_independent(struct sock *sk, const struct prague *p)
{
	u32 rtt = cc_tcp(sk)->srtt_us >> 3;

	return p->rounds >= ROUNDS_UNTIL_THEN && rtt && rtt < VIRTUAL_RTT_US && cc_has_ecn(sk);
}

CC_INLINE void
start_round(struct prague *p, const struct tcp_sock *tp)
{
	p->round_end = tp->snd_nxt;
	p->delivered = tp->delivered;
	p->delivered_ce = tp->delivered_ce;
	p->alpha_at = tp->tcp_mstamp;
	if (!in_slow_start(tp))
		p->rounds = min_t(u32, p->rounds + 1, ROUNDS_UNTIL_THEN);
}

CC_OP(void, prague_init, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct prague *p = cc_state_new(sk);

	cc_need_pacing(sk);
	cc_set_pacing_shift(sk, BURST_SHIFT);
	if (!p)
		return;
	if (cc_has_ecn(sk))
		cc_send_ect1(sk);
	p->cwnd = (u64)tp->snd_cwnd << FRACTION_BITS;
	p->alpha = ONE << GAIN_BITS; /* the first mark halves the window */
	p->ce = tp->delivered_ce;
	p->echo.rcv_nxt = cc_rcv_nxt(sk);
	start_round(p, tp);
}

/* ------------------------------------------------------------------------------------- less */

CC_INLINE void
cut(struct sock *sk, struct prague *p, u64 share)
{
	u64 reduction = (p->cwnd * share + ONE) >> (FRACTION_BITS + 1);

	p->cwnd = max(p->cwnd - reduction, (u64)MIN_CWND << FRACTION_BITS);
	cc_set_ssthresh(sk, (u32)(p->cwnd >> FRACTION_BITS));
}

CC_INLINE bool
may_cut_again(struct sock *sk, const struct prague *p)
{
	struct tcp_sock *tp = cc_tcp(sk);

	if (!p->cut_at)
		return true;
	if (cc_before(tp->snd_una, p->cut_end))
		return false;
	return !is_rtt_independent(sk, p) || tp->tcp_mstamp - p->cut_at >= VIRTUAL_RTT_US;
}

/* Marks were echoed: once in a virtual RTT the window falls by half of alpha. */
CC_INLINE void
heed_marks(struct sock *sk, struct prague *p)
{
	struct tcp_sock *tp = cc_tcp(sk);

	p->has_seen_ce = true;
	if (cc_ca_state(sk) >= TCP_CA_Recovery || !may_cut_again(sk, p))
		return;
	cut(sk, p, p->alpha >> GAIN_BITS);
	p->cut_at = tp->tcp_mstamp;
	p->cut_end = tp->snd_nxt;
}

/* A virtual RTT is over: what share of it was marked? Before the first mark nothing is known. */
CC_INLINE void
update_alpha(struct sock *sk, struct prague *p)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 delivered = tp->delivered - p->delivered;
	u64 marked = tp->delivered_ce - p->delivered_ce;

	if (cc_before(tp->snd_una, p->round_end) ||
	    (is_rtt_independent(sk, p) && tp->tcp_mstamp - p->alpha_at < VIRTUAL_RTT_US))
		return;
	if (p->has_seen_ce && delivered) {
		p->alpha -= p->alpha >> GAIN_BITS;
		p->alpha += cc_div(marked << FRACTION_BITS, delivered);
		p->alpha = min(p->alpha, ONE << GAIN_BITS);
	}
	start_round(p, tp);
}

/* ------------------------------------------------------------------------------------- more */

/* A segment for each window that is acknowledged. With a virtual RTT as many in a second as a flow
 * with that RTT has, from a window as much smaller as its RTT is.
 */
CC_INLINE u64
growth(struct sock *sk, const struct prague *p, u32 acked)
{
	u64 rtt = cc_tcp(sk)->srtt_us >> 3, segments = p->cwnd >> FRACTION_BITS;
	u64 more = (u64)acked << FRACTION_BITS;

	if (is_rtt_independent(sk, p))
		more = cc_div(more * rtt, VIRTUAL_RTT_US) * rtt;
	else
		return cc_div(more, max(segments, 1ULL));
	return cc_div(more, VIRTUAL_RTT_US * max(segments, 1ULL));
}

/* What was acknowledged unmarked lets it grow, whatever else was marked. */
CC_INLINE void
grow(struct sock *sk, struct prague *p, u32 acked)
{
	struct tcp_sock *tp = cc_tcp(sk);

	if (!acked || cc_ca_state(sk) == TCP_CA_Recovery || !cc_is_cwnd_limited(tp))
		return;
	if (in_slow_start(tp))
		p->cwnd += (u64)acked << FRACTION_BITS;
	else
		p->cwnd += growth(sk, p, acked);
	p->cwnd = min(p->cwnd, (u64)tp->snd_cwnd_clamp << FRACTION_BITS);
}

/* The socket's window: up at once, and down by one with each acknowledgement, so that something is
 * sent all the while.
 */
CC_INLINE void
follow(struct sock *sk, const struct prague *p)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u32 cwnd = max_t(u32, (p->cwnd + ONE - 1) >> FRACTION_BITS, MIN_CWND);

	cc_set_cwnd(sk, cwnd < tp->snd_cwnd ? tp->snd_cwnd - 1 : cwnd);
}

CC_INLINE void
pace(struct sock *sk, struct prague *p)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u64 bytes = (p->cwnd * (tp->mss_cache + HEADER_BYTES)) >> FRACTION_BITS;
	u64 rate;

	if (!tp->srtt_us) /* in 1/8 us; not measured yet */
		return;
	rate = cc_div(bytes * 8 * USEC_PER_SEC, tp->srtt_us);
	p->told.bw = rate;
	p->told.pacing_gain = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 2 * CC_GAIN_UNIT : CC_GAIN_UNIT;
	cc_set_rate(sk, rate * p->told.pacing_gain / CC_GAIN_UNIT);
}

/* Alpha takes the place of the window's gain. */
CC_INLINE void
tell(struct sock *sk, struct prague *p)
{
	struct tcp_sock *tp = cc_tcp(sk);

	p->told.cwnd_gain = (p->alpha >> GAIN_BITS) * CC_GAIN_UNIT / ONE;
	p->told.mode = MODE_AVOIDANCE;
	if (cc_ca_state(sk) >= TCP_CA_Recovery)
		p->told.mode = MODE_RECOVERY;
	else if (in_slow_start(tp))
		p->told.mode = MODE_SLOW_START;
	else if (!may_cut_again(sk, p))
		p->told.mode = MODE_REDUCED;
}

CC_MAIN(prague_main, sk, rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct prague *p = cc_state(sk);
	u32 marked;

	if (!p)
		return;
	marked = min_t(u32, tp->delivered_ce - p->ce, rs->acked_sacked);
	p->ce = tp->delivered_ce;
	if (marked)
		heed_marks(sk, p);
	grow(sk, p, rs->acked_sacked - marked);
	follow(sk, p);
	update_alpha(sk, p);
	pace(sk, p);
	tell(sk, p);
}

/* ----------------------------------------------------------------------------------- losses */

/* Half, as Reno has it; after a timeout from the least window on. */
CC_OP(void, prague_set_state, struct sock *sk, u8 state)
{
	struct prague *p = cc_state(sk);

	if (!p || state < TCP_CA_Recovery)
		return;
	if (cc_ca_state(sk) < TCP_CA_Recovery) {
		p->undo_cwnd = p->cwnd;
		cut(sk, p, ONE);
	}
	if (state == TCP_CA_Loss)
		p->cwnd = (u64)MIN_CWND << FRACTION_BITS;
}

/* What a recovery begins with; prague_set_state halves it. Marks begin one, too, in the kernel. */
CC_OP(u32, prague_ssthresh, struct sock *sk)
{
	return cc_tcp(sk)->snd_ssthresh;
}

CC_OP(u32, prague_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct prague *p = cc_state(sk);

	if (!p)
		return cc_keep(tp->snd_cwnd);
	p->cwnd = max(p->cwnd, p->undo_cwnd);
	return max_t(u32, p->cwnd >> FRACTION_BITS, tp->snd_cwnd);
}

CC_OP(void, prague_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct prague *p = cc_state(sk);

	if (p && (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE))
		cc_echo_ce(sk, &p->echo, event == CA_EVENT_ECN_IS_CE);
}

CC_OP(u32, prague_min_tso_segs, struct sock *sk)
{
	return 1;
}

CC_REGISTER(.init = prague_init, .cong_control = prague_main, .ssthresh = prague_ssthresh,
	    .undo_cwnd = prague_undo_cwnd, .set_state = prague_set_state,
	    .cwnd_event = prague_cwnd_event, .min_tso_segs = prague_min_tso_segs);
