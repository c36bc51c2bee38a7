/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Copa: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
 * NSDI 2018. Written from the paper; where it leaves something open it is as in the authors'
 * implementation (github.com/venkatarun95/genericCC) or in the one that is deployed
 * (github.com/facebook/mvfst), as noted.
 *
 * The rate that Copa aims at is 1/(delta x queueing delay) packets; its window moves towards it by
 * velocity/delta packets a round trip, up or down. Flows of Copa so have a few packets in the queue
 * and empty it together every five round trips. Where the queue has not been nearly empty for so
 * long, somebody else fills it: delta then moves as the window of TCP does (competitive mode).
 *
 * The file that includes this defines COPA_COMPETES: false keeps to the default mode; and COPA_MVFST:
 * true is what mvfst runs where the paper says something else.
 */
#include "cc.h"
#include "cc_min.h"

#define WINDOW_UNIT 65536U /* the window is in 1/65536 packets */
#define LEAST_WINDOW 2	   /* packets; genericCC */

/* Windows of time. The sliding minimum covers 3/4 to 4/4 of what it is given. */
#define MIN_RTT_US (10 * USEC_PER_SEC)	 /* section 2 */
#define STANDING_US(srtt) ((srtt) / 2)	 /* section 2: tau = srtt/2 */
#define RTT_MAX_US(srtt) ((srtt)*16 / 3) /* section 2.2: four round trips at least */
#define EMPTY_US(srtt) ((srtt)*20 / 3)	 /* section 2.2: five round trips at least */
#define NEARLY_EMPTY 10			 /* section 2.2: below a tenth of RTT_max - RTT_min */

/* 1/delta in default mode: delta = 0.5 (section 2); mvfst: 0.05. */
#define PACKETS_DEFAULT (COPA_MVFST ? 20 : 2)
#define PACKETS_MOST 4096
#define SAME_DIRECTION 3 /* round trips until velocity doubles (section 2.1) */
/* More than 30 % of 20 segments or more lost: the window is cut to 70 % (genericCC). */
#define HEAVY_LOSS_PERCENT 30
#define HEAVY_LOSS_SEGMENTS 20
#define HEAVY_LOSS_CUT_PERCENT 70

#define PACING_GAIN 2 /* section 2.1: no bursts, and the window governs */

enum copa_mode {
	COPA_SLOW_START = 1,
	COPA_DEFAULT,
	COPA_COMPETITIVE,
};

struct copa {
	struct cc_told told;
	struct cc_min min_rtt;
	struct cc_min standing;
	struct cc_min least_queue;
	struct cc_min max_rtt; /* of ~RTT */
	u64 window;	       /* in 1/WINDOW_UNIT packets */
	u64 window_at_round_start;
	u32 round_start; /* tp->delivered then */
	u32 velocity;
	u32 same;	 /* rounds in a row that went as the one before */
	u32 packets;	 /* 1/delta */
	u32 latest_us;	 /* the latest RTT */
	u32 acked, lost; /* since losses were judged last */
	bool up, slow_start, competitive, lost_in_round, measured;
};
CC_STATE(struct copa)

/* -------------------------------------------------------------------------- measurements */

CC_INLINE u32
min_rtt_us(const struct copa *copa)
{
	return cc_min_get(&copa->min_rtt);
}

CC_INLINE u32
standing_us(const struct copa *copa)
{
	return max(cc_min_get(&copa->standing), 1u);
}

/* How long the queue is: by the standing RTT, in mvfst by the latest one. */
CC_INLINE u32
queue_us(const struct copa *copa)
{
	u32 rtt = COPA_MVFST ? copa->latest_us : standing_us(copa), least = min_rtt_us(copa);

	return rtt - min(least, rtt);
}

CC_INLINE void
measure_first(struct copa *copa, u64 now, u32 rtt)
{
	cc_min_reset(&copa->min_rtt, now, rtt);
	cc_min_reset(&copa->standing, now, rtt);
	cc_min_reset(&copa->max_rtt, now, ~rtt);
	cc_min_reset(&copa->least_queue, now, 0);
	copa->measured = true;
}

CC_INLINE void
measure(struct copa *copa, const struct tcp_sock *tp, u32 rtt)
{
	u64 srtt = max(tp->srtt_us >> 3, 1u), now = tp->tcp_mstamp;

	if (!copa->measured)
		measure_first(copa, now, rtt);
	copa->latest_us = rtt;
	cc_min_add(&copa->min_rtt, now, MIN_RTT_US, rtt);
	cc_min_add(&copa->standing, now, STANDING_US(srtt), rtt);
	cc_min_add(&copa->max_rtt, now, RTT_MAX_US(srtt), ~rtt);
	cc_min_add(&copa->least_queue, now, EMPTY_US(srtt), queue_us(copa));
}

/* Whether somebody fills the queue: it was never nearly empty in five round trips (section 2.2). */
CC_INLINE bool
is_queue_kept(const struct copa *copa)
{
	u32 max_rtt = ~cc_min_get(&copa->max_rtt), least = min_rtt_us(copa);

	return cc_min_get(&copa->least_queue) > (max_rtt - min(least, max_rtt)) / NEARLY_EMPTY;
}

/* The rate window/standing is not above the target 1/(delta queue). */
CC_INLINE bool
is_below_target(const struct copa *copa)
{
	return copa->window * queue_us(copa) <=
	       (u64)copa->packets * standing_us(copa) * WINDOW_UNIT;
}

/* --------------------------------------------------------------------- once a round trip */

/* 1/delta is a packet more a round trip, and half after a loss; in default mode it is fixed. */
CC_INLINE void
choose_delta(struct copa *copa)
{
	copa->competitive = COPA_COMPETES && !copa->slow_start && is_queue_kept(copa);
	if (!copa->competitive)
		copa->packets = PACKETS_DEFAULT;
	else if (copa->lost_in_round)
		copa->packets = max_t(u32, copa->packets / 2, PACKETS_DEFAULT);
	else
		copa->packets = min_t(u32, copa->packets + 1, PACKETS_MOST);
	copa->lost_in_round = false;
}

CC_INLINE void
turn(struct copa *copa, bool up)
{
	copa->up = up;
	copa->same = 0;
	copa->velocity = 1;
}

/* Twice as fast after three round trips in one direction; but the window at most doubles or halves in
 * a round trip (genericCC has the first).
 */
CC_INLINE void
choose_velocity(struct copa *copa)
{
	bool up = copa->window > copa->window_at_round_start;
	u64 change = up ? copa->window : copa->window / 2;
	u64 most = cc_div(change, (u64)copa->packets * WINDOW_UNIT);

	if (up != copa->up) {
		turn(copa, up);
		return;
	}
	copa->same++;
	if (copa->same >= SAME_DIRECTION)
		copa->velocity = (u32)max_t(u64, min_t(u64, 2ULL * copa->velocity, most), 1);
}

/* A queue that overflows for good is not emptied by its delay alone. */
CC_INLINE void
judge_losses(struct copa *copa)
{
	u64 all = (u64)copa->acked + copa->lost;

	if (all < HEAVY_LOSS_SEGMENTS)
		return;
	if ((u64)copa->lost * 100 > all * HEAVY_LOSS_PERCENT)
		copa->window = copa->window * HEAVY_LOSS_CUT_PERCENT / 100;
	copa->acked = 0;
	copa->lost = 0;
}

CC_INLINE void
begin_round(struct copa *copa, const struct tcp_sock *tp)
{
	copa->round_start = tp->delivered;
	copa->window_at_round_start = copa->window;
}

/* ------------------------------------------------------------------- each acknowledgement */

/* Within a round, what was meant for the other direction would overshoot (mvfst): without this two
 * flows of a long path may never share alike, each swinging with a velocity of hundreds.
 */
CC_INLINE void
turn_at_once(struct copa *copa, const struct tcp_sock *tp, bool up)
{
	turn(copa, up);
	begin_round(copa, tp);
}

/* What the delay tells now is of the window a round trip ago, which was half of it; mvfst keeps all. */
CC_INLINE void
leave_slow_start(struct copa *copa, const struct tcp_sock *tp)
{
	copa->slow_start = false;
	if (!COPA_MVFST)
		copa->window = min(copa->window, copa->window_at_round_start);
	turn_at_once(copa, tp, false);
}

CC_INLINE void
move_window(struct copa *copa, const struct tcp_sock *tp, u32 acked)
{
	bool below = is_below_target(copa);
	u64 packets = (u64)copa->velocity * copa->packets * acked, step;

	step = cc_div(packets * WINDOW_UNIT * WINDOW_UNIT, max(copa->window, 1ULL));
	if (copa->slow_start && !below)
		leave_slow_start(copa, tp);
	if (copa->slow_start) /* doubles in a round trip */
		step = (u64)acked * WINDOW_UNIT;
	else if (below != copa->up && copa->velocity > 1)
		turn_at_once(copa, tp, below);
	if (below)
		copa->window += cc_is_cwnd_limited(tp) ? step : 0;
	else
		copa->window -= min(step, copa->window);
}

CC_INLINE void
bound_window(struct copa *copa, const struct tcp_sock *tp)
{
	u64 most = min_t(u64, tp->snd_cwnd_clamp, 1 << 24) * WINDOW_UNIT;

	copa->window = min(copa->window, most);
	copa->window = max_t(u64, copa->window, LEAST_WINDOW * WINDOW_UNIT);
}

CC_INLINE void
tell(struct copa *copa, u64 rate)
{
	copa->told.bw = rate;
	copa->told.min_rtt_us = min_rtt_us(copa);
	copa->told.pacing_gain = PACING_GAIN * CC_GAIN_UNIT;
	copa->told.cwnd_gain = (u16)(min_t(u32, copa->velocity, 255) * CC_GAIN_UNIT);
	copa->told.mode = copa->slow_start  ? COPA_SLOW_START :
			  copa->competitive ? COPA_COMPETITIVE :
					      COPA_DEFAULT;
}

CC_INLINE void
apply(struct sock *sk, struct copa *copa)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u64 bytes = copa->window * tp->mss_cache / WINDOW_UNIT;
	u64 rate = cc_div(bytes * USEC_PER_SEC, standing_us(copa));
	u64 paced = COPA_MVFST ? cc_div(bytes * USEC_PER_SEC, max(tp->srtt_us >> 3, 1u)) : rate;

	bound_window(copa, tp);
	cc_set_cwnd(sk, (u32)(copa->window / WINDOW_UNIT));
	cc_set_rate(sk, PACING_GAIN * paced);
	tell(copa, rate);
}

/* mvfst looks at no losses. */
CC_INLINE void
count(struct copa *copa, const struct rate_sample *rs)
{
	copa->acked += rs->acked_sacked;
	if (COPA_MVFST || rs->losses <= 0)
		return;
	copa->lost += (u32)rs->losses;
	copa->lost_in_round = true;
}

/* -------------------------------------------------------------------- what the kernel calls */

CC_OP(void, copa_init, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct copa *copa = cc_state_new(sk);

	cc_set_ssthresh(sk, TCP_INFINITE_SSTHRESH);
	cc_need_pacing(sk);
	if (!copa)
		return;
	copa->window = (u64)tp->snd_cwnd * WINDOW_UNIT;
	copa->packets = PACKETS_DEFAULT;
	copa->velocity = 1;
	copa->up = true;
	copa->slow_start = true;
	begin_round(copa, tp);
}

CC_MAIN(copa_main, sk, rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct copa *copa = cc_state(sk);

	if (!copa)
		return;
	count(copa, rs);
	if (rs->rtt_us > 0 && !rs->is_ack_delayed)
		measure(copa, tp, (u32)rs->rtt_us);
	if (!copa->measured)
		return;
	if (rs->prior_mstamp && !cc_before(rs->prior_delivered, copa->round_start)) {
		choose_delta(copa);
		judge_losses(copa);
		if (!copa->slow_start)
			choose_velocity(copa);
		begin_round(copa, tp);
	}
	if (!COPA_MVFST && copa->slow_start && rs->losses > 0)
		leave_slow_start(copa, tp);
	if (rs->acked_sacked > 0 && (rs->rtt_us > 0 || copa->slow_start))
		move_window(copa, tp, rs->acked_sacked);
	apply(sk, copa);
}

/* A timeout: from the beginning, as TCP does (RFC 5681); the paper says nothing of it, and mvfst goes on
 * from the least window in the mode it is in.
 */
CC_OP(void, copa_set_state, struct sock *sk, u8 state)
{
	struct copa *copa = cc_state(sk);

	if (!copa || state != TCP_CA_Loss)
		return;
	copa->window = LEAST_WINDOW * WINDOW_UNIT;
	copa->slow_start = copa->slow_start || !COPA_MVFST;
}

CC_OP(u32, copa_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

CC_OP(u32, copa_undo_cwnd, struct sock *sk)
{
	return cc_tcp(sk)->snd_cwnd;
}

CC_OP(u32, copa_min_tso_segs, struct sock *sk)
{
	return 1;
}

CC_REGISTER(.init = copa_init, .cong_control = copa_main, .set_state = copa_set_state,
	    .ssthresh = copa_ssthresh, .undo_cwnd = copa_undo_cwnd,
	    .min_tso_segs = copa_min_tso_segs);
