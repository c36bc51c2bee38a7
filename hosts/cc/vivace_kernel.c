// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* PCC Vivace as its authors' Linux module has it (github.com/PCCproject/PCC-Kernel, branch vivace), which
 * differs from the paper (vivace.c) in its utility, its gradient and its steps: README.md here lists
 * how. Written anew from a reading of that module; no code is its authors'.
 *
 * The sender tries a rate 5 % higher and one 5 % lower for an interval each, twice, in random order.
 * Where both pairs agree it moves: an interval at each rate, a step along the gradient of the utility
 * between the last two, until a step leads down; then it tries again.
 *
 * An interval is a range of segments by the order of sending. That many are known as were delivered or
 * lost; which ones those are, nobody asks. Rates change on acknowledgements, as there is no timer.
 */
#include "cc.h"

#define PERMILLE 1000
#define GRADIENT_UNIT 1000000LL

/* Utility: x - b x dRTT/dt - c x L, of the rate x itself. */
#define LATENCY_WEIGHT 900
#define LOSS_WEIGHT 11
#define LEAST_INFLATION 30     /* permille: below it dRTT/dt is noise */
#define LEAST_RISE_PACKETS 2   /* and below the time that so many packets take */
#define STARTING_LOSS_FREE 100 /* permille: while it starts, less is no loss */

#define PROBES 4
#define PROBE_PERCENT 5
#define INTERVAL_PACKETS 50
#define MARGIN_PACKETS 10 /* at both ends of an interval, which do not count */

#define STEP_SIZE 25
#define LEAST_RATE_CHANGE 20 /* permille, for a gradient; a step is a tenth more */
#define BOUND_FIRST 100	     /* permille of the rate, of the first step */
#define BOUND_MORE 70	     /* and of each further one that it bounds */
#define AMPLIFIER_FIRST 2
#define SWINGS_MOST 2

#define INITIAL_RATE (512 * 1024) /* bytes/s: 4.2 Mbit/s */
#define LEAST_RATE 1024
#define LEAST_PACKETS 2 /* in a round trip, while it moves */
#define MOST_RATE 0xffffffffULL

enum vivace_mode {
	VIVACE_STARTING = 1,
	VIVACE_WAITING,
	VIVACE_HIGH,
	VIVACE_LOW,
	VIVACE_MOVING,
};

struct interval {
	u64 rate;		  /* bytes/s */
	u64 sent_from, sent_to;	  /* us */
	u64 known_from, known_to; /* us */
	s64 utility;
	u32 first_rtt, last_rtt; /* smoothed, us */
	u32 from, to;		 /* segments ever sent; 0: not begun, not ended */
	u32 delivered, lost;
};

struct vivace {
	struct cc_told told;
	struct interval intervals[PROBES];
	u64 rate, last_rate;  /* bytes/s */
	u32 sending, awaited; /* intervals */
	u32 known;	      /* segments delivered or lost */
	u32 counted_twice;    /* of them, by timeouts */
	u32 delivered_before, lost_before;
	u32 amplifier, swings, bound;
	bool starting, moving, waiting, in_loss;
};
CC_STATE(struct vivace)

/* ------------------------------------------------------------------------------- utility */

CC_INLINE u32
rtt_us(const struct tcp_sock *tp)
{
	return tp->srtt_us ? max(tp->srtt_us >> 3, 1u) : USEC_PER_MSEC;
}

/* dRTT/dt in permille: by the smoothed RTT when the first and the last segment became known, over the
 * time of sending.
 */
CC_INLINE s64
inflation_of(const struct tcp_sock *tp, const struct vivace *vivace, const struct interval *one)
{
	s64 rise = (s64)one->last_rtt - one->first_rtt, inflation, least;
	u64 sending = one->sent_to - one->sent_from, known = one->known_to - one->known_from;

	/* The time of two packets at the rate at which it was delivered. */
	least = (s64)cc_div(LEAST_RISE_PACKETS * known, max(one->delivered, 1u));
	if (!sending || (rise < least && rise > -least))
		return 0;
	inflation = cc_sdiv(rise * PERMILLE, sending);
	if (inflation < LEAST_INFLATION && inflation > -LEAST_INFLATION)
		return 0;
	return vivace->starting && inflation < 0 ? 0 : inflation;
}

/* In bytes/s. */
CC_INLINE s64
utility_of(const struct tcp_sock *tp, const struct vivace *vivace, const struct interval *one)
{
	s64 rate = (s64)one->rate, loss;

	if (!one->delivered)
		return 0;
	loss = (s64)cc_div((u64)one->lost * PERMILLE, (u64)one->lost + one->delivered);
	if (vivace->starting && loss < STARTING_LOSS_FREE)
		loss = 0;
	loss = loss * LOSS_WEIGHT + inflation_of(tp, vivace, one) * LATENCY_WEIGHT;
	return rate - cc_sdiv(rate * loss, PERMILLE);
}

/* ----------------------------------------------------------------------------- intervals */

CC_INLINE struct interval *
interval_at(struct vivace *vivace, u32 number)
{
	return &vivace->intervals[number & (PROBES - 1)];
}

/* Send at the rate of the next interval, or at the base rate where none is to be sent. */
CC_INLINE void
start_interval(struct sock *sk, struct vivace *vivace)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct interval *next = interval_at(vivace, vivace->sending);
	u64 rate = vivace->rate;

	if (!vivace->waiting) {
		next->to = 0;
		next->lost = 0;
		next->delivered = 0;
		next->from = max(tp->data_segs_out, 1u);
		next->sent_from = tp->tcp_mstamp;
		rate = next->rate;
	}
	cc_set_rate(sk, max_t(u64, rate, LEAST_RATE));
}

CC_INLINE void
await_first(struct vivace *vivace)
{
	vivace->sending = 0;
	vivace->awaited = 0;
	vivace->waiting = false;
}

CC_INLINE void
plan_probes(struct vivace *vivace)
{
	u64 apart = cc_div(vivace->rate * PROBE_PERCENT, 100);
	u32 coins = cc_random(), i;

	for (i = 0; i < PROBES; i += 2) {
		bool low_first = coins >> i & 1;

		vivace->intervals[i].rate = low_first ? vivace->rate - apart : vivace->rate + apart;
		vivace->intervals[i + 1].rate = 2 * vivace->rate - vivace->intervals[i].rate;
		vivace->intervals[i].from = 0;
		vivace->intervals[i + 1].from = 0;
	}
	await_first(vivace);
}

CC_INLINE void
plan_move(struct vivace *vivace)
{
	vivace->intervals[0].from = 0;
	vivace->intervals[0].rate = vivace->rate;
	await_first(vivace);
}

/* All of an interval is sent: 50 segments, and some that are sent since it began are known. */
CC_INLINE void
send_on(struct sock *sk, struct vivace *vivace)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct interval *one = interval_at(vivace, vivace->sending);

	if (vivace->waiting || (s32)(tp->data_segs_out - one->from) < INTERVAL_PACKETS ||
	    vivace->known <= one->from)
		return;
	one->to = tp->data_segs_out;
	one->sent_to = tp->tcp_mstamp;
	vivace->sending++;
	vivace->waiting = vivace->sending == PROBES || vivace->starting || vivace->moving;
	start_interval(sk, vivace);
}

CC_INLINE void
account(const struct tcp_sock *tp, const struct vivace *vivace, struct interval *one)
{
	one->known_to = tp->tcp_mstamp;
	one->last_rtt = rtt_us(tp);
	if (!one->lost && !one->delivered) {
		one->known_from = tp->tcp_mstamp;
		one->first_rtt = rtt_us(tp);
	}
	one->lost += tp->lost - vivace->lost_before;
	one->delivered += tp->delivered - vivace->delivered_before;
}

/* ----------------------------------------------------------------------------- decisions */

CC_INLINE bool
is_first_better(const struct interval *pair)
{
	return pair[0].utility > pair[1].utility;
}

/* Where both pairs say the same it moves, from the better rate of the second one. The module sends the
 * first interval of a move at the old rate, and takes what that gave for the utility of the new one.
 */
CC_INLINE void
decide(struct sock *sk, struct vivace *vivace)
{
	struct interval *better;
	bool one, other, alike;
	u32 i;

	for (i = 0; i < PROBES; i++)
		vivace->intervals[i].utility =
			utility_of(cc_tcp(sk), vivace, &vivace->intervals[i]);
	one = is_first_better(&vivace->intervals[0]);
	other = is_first_better(&vivace->intervals[2]);
	alike = vivace->intervals[0].rate == vivace->intervals[2].rate;
	if ((one == other) != alike) {
		plan_probes(vivace);
		return;
	}
	better = other ? &vivace->intervals[2] : &vivace->intervals[3];
	vivace->intervals[0].utility = better->utility;
	vivace->moving = true;
	plan_move(vivace); /* still at the old rate */
	vivace->last_rate = better->rate;
	vivace->rate = better->rate;
}

/* Utility's change over the rate's, in 1/GRADIENT_UNIT; 0 where the rates are too alike to tell. */
CC_INLINE s64
gradient_of(const struct vivace *vivace, s64 utility, s64 last_utility)
{
	s64 rise = (last_utility - utility) * GRADIENT_UNIT;
	bool was_higher = vivace->last_rate > vivace->rate;
	u64 apart =
		was_higher ? vivace->last_rate - vivace->rate : vivace->rate - vivace->last_rate;

	if (apart * PERMILLE < vivace->rate * LEAST_RATE_CHANGE)
		return 0;
	return was_higher ? cc_sdiv(rise, apart) : -cc_sdiv(rise, apart);
}

/* Steps grow while they lead on in one direction, two later after each turn. */
CC_INLINE void
amplify(struct vivace *vivace, bool up)
{
	if (up != (vivace->rate > vivace->last_rate)) {
		vivace->swings = min_t(u32, vivace->swings + 1, SWINGS_MOST);
		vivace->amplifier = AMPLIFIER_FIRST;
		vivace->bound = BOUND_FIRST;
	} else if (vivace->swings) {
		vivace->swings--;
	} else {
		vivace->amplifier = min_t(u32, vivace->amplifier + 1, PERMILLE);
	}
}

CC_INLINE u64
bounded(struct vivace *vivace, u64 step)
{
	u64 most = cc_div(vivace->rate * vivace->bound, PERMILLE);

	if (step <= most) {
		vivace->bound = BOUND_FIRST;
		return step;
	}
	vivace->bound = min_t(u32, vivace->bound + BOUND_MORE, PERMILLE);
	return most;
}

/* A step along the gradient: 2.2 % of the rate at least, and up where there is no gradient. */
CC_INLINE u64
next_rate(struct vivace *vivace, s64 gradient)
{
	u64 least = cc_div(vivace->rate * LEAST_RATE_CHANGE * 11, PERMILLE * 10);
	u64 step = (u64)(gradient < 0 ? -gradient : gradient) * STEP_SIZE;

	amplify(vivace, gradient > 0);
	step = bounded(vivace, cc_div(step * vivace->amplifier, PERMILLE));
	step = max(step, least);
	return gradient < 0 ? vivace->rate - step : vivace->rate + step;
}

/* It leaves off moving after a step that does not lead up: the module compares a step's direction with
 * one that it never sets.
 */
CC_INLINE void
move_on(struct sock *sk, struct vivace *vivace)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct interval *one = &vivace->intervals[0];
	s64 last_utility = one->utility;
	u64 least = cc_div((u64)LEAST_PACKETS * tp->mss_cache * USEC_PER_SEC, rtt_us(tp)), rate;
	bool up;

	one->utility = utility_of(tp, vivace, one);
	rate = next_rate(vivace, gradient_of(vivace, one->utility, last_utility));
	up = rate > vivace->rate;
	vivace->last_rate = vivace->rate;
	vivace->rate = min_t(u64, max(rate, least), MOST_RATE);
	vivace->moving = up;
	if (up)
		plan_move(vivace);
	else
		plan_probes(vivace);
}

/* Half as much again until the utility falls, then back. */
CC_INLINE void
start_on(struct sock *sk, struct vivace *vivace)
{
	struct interval *one = &vivace->intervals[0];
	s64 utility = utility_of(cc_tcp(sk), vivace, one);
	u64 back = vivace->last_rate;

	vivace->last_rate = vivace->rate;
	if (utility > one->utility) {
		vivace->rate = min_t(u64, vivace->rate + vivace->rate / 2, MOST_RATE);
		one->utility = utility;
		one->rate = vivace->rate;
		await_first(vivace);
		return;
	}
	vivace->rate = back;
	vivace->starting = false;
	plan_probes(vivace);
}

CC_INLINE void
receive_on(struct sock *sk, struct vivace *vivace)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct interval *one = interval_at(vivace, vivace->awaited);
	u32 before = vivace->known;

	vivace->known = tp->delivered + tp->lost - vivace->counted_twice;
	if (!one->from)
		return;
	if (before > one->from + MARGIN_PACKETS)
		account(tp, vivace, one);
	if (!one->to || one->to - MARGIN_PACKETS >= vivace->known)
		return;
	vivace->awaited++;
	if (vivace->starting)
		start_on(sk, vivace);
	else if (vivace->moving)
		move_on(sk, vivace);
	else if (vivace->awaited == PROBES)
		decide(sk, vivace);
	else
		return;
	start_interval(sk, vivace);
}

/* -------------------------------------------------------------------- what the kernel calls */

CC_INLINE u8
mode_of(const struct vivace *vivace, u64 rate)
{
	if (vivace->starting)
		return VIVACE_STARTING;
	if (vivace->moving)
		return VIVACE_MOVING;
	if (vivace->waiting)
		return VIVACE_WAITING;
	return rate > vivace->rate ? VIVACE_HIGH : VIVACE_LOW;
}

CC_INLINE void
apply(struct sock *sk, struct vivace *vivace)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u64 rate = sk->sk_pacing_rate, window;

	window = cc_div(2 * rate * rtt_us(tp), (u64)USEC_PER_SEC * max(tp->mss_cache, 1u));
	cc_set_cwnd(sk, max_t(u32, (u32)window, 4));
	vivace->told.bw = vivace->rate;
	vivace->told.mode = mode_of(vivace, rate);
	vivace->told.pacing_gain = (u16)cc_div(rate * CC_GAIN_UNIT, max(vivace->rate, 1ULL));
	vivace->told.cwnd_gain = 2 * CC_GAIN_UNIT;
}

CC_OP(void, vivace_init, struct sock *sk)
{
	struct vivace *vivace = cc_state_new(sk);

	cc_set_ssthresh(sk, TCP_INFINITE_SSTHRESH);
	cc_need_pacing(sk);
	if (!vivace)
		return;
	vivace->amplifier = AMPLIFIER_FIRST;
	vivace->bound = BOUND_FIRST;
	vivace->rate = INITIAL_RATE;
	vivace->last_rate = INITIAL_RATE;
	vivace->starting = true;
	vivace->intervals[0].utility = -(1LL << 62);
	plan_probes(vivace);
	start_interval(sk, vivace);
	apply(sk, vivace);
}

CC_MAIN(vivace_main, sk, rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct vivace *vivace = cc_state(sk);

	if (!vivace)
		return;
	if (!vivace->in_loss) {
		send_on(sk, vivace);
		receive_on(sk, vivace);
	}
	vivace->lost_before = tp->lost;
	vivace->delivered_before = tp->delivered;
	apply(sk, vivace);
}

/* A timeout: nothing is measured until it is over; then the counts of sent and known segments, which a
 * timeout brings apart, are made to agree.
 */
CC_OP(void, vivace_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct vivace *vivace = cc_state(sk);

	if (!vivace || vivace->in_loss == (state == TCP_CA_Loss))
		return;
	vivace->in_loss = state == TCP_CA_Loss;
	if (vivace->in_loss) {
		vivace->waiting = true;
	} else {
		vivace->counted_twice =
			tp->delivered + tp->lost + tcp_packets_in_flight(tp) - tp->data_segs_out;
		plan_probes(vivace);
	}
	start_interval(sk, vivace);
}

CC_OP(u32, vivace_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

CC_OP(u32, vivace_undo_cwnd, struct sock *sk)
{
	return cc_tcp(sk)->snd_cwnd;
}

CC_REGISTER(.init = vivace_init, .cong_control = vivace_main, .set_state = vivace_set_state,
	    .ssthresh = vivace_ssthresh, .undo_cwnd = vivace_undo_cwnd);
