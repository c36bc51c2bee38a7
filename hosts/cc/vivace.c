// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* PCC Vivace, with the utility that minds latency: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad,
 * P. B. Godfrey, M. Schapira, "PCC Vivace: Online-Learning Congestion Control", NSDI 2018. Monitor
 * intervals and pairs of trials: M. Dong, Q. Li, D. Zarchy, P. B. Godfrey, M. Schapira, "PCC:
 * Re-architecting Congestion Control for Consistent High Performance", NSDI 2015 (Allegro). Written
 * from the papers; where they leave a number open it is that of the authors' implementations
 * (github.com/PCCproject: PCC-Uspace, branch NSDI-2018; PCC-Kernel, branch vivace), as noted.
 *
 * The sender tries a rate 5 % higher and one 5 % lower for a round trip each, twice, in random order.
 * Where both pairs agree on the better rate, it steps along the gradient of the utility. While the
 * results are on their way it sends at the rate between.
 *
 * Which interval a segment left in is told by tp->delivered at that time, which its acknowledgement
 * brings back (rs->prior_delivered): an interval is a range of that counter. Rates change on
 * acknowledgements, as there is no timer.
 */
#include "cc.h"

#define PERMILLE 1000
#define BYTES_PER_KBIT 125

/* Utility, section 3: x^0.9 - b x dRTT/dt - c x L, with x in Mbit/s. */
#define LATENCY_WEIGHT 900	      /* b */
#define LOSS_WEIGHT_THOUSANDTHS 11350 /* c = 11.35: no gain from loss below 5 % (section 3) */
/* Gradients of the RTT below 3 % are noise: PCC-Kernel (PCC_LAT_INFL_FILTER); 2 % in PCC-Uspace. */
#ifndef VIVACE_GRADIENT_FILTER
#define VIVACE_GRADIENT_FILTER 300
#endif
#define GRADIENT_UNIT 10000 /* gradients and losses are in 1/10000 */

/* Rate control, section 4. */
#define PROBE_PERMILLE 50		  /* epsilon */
#define BOUNDARY_FIRST_PERMILLE 50	  /* omega_0: the largest first step */
#define BOUNDARY_STEP_PERMILLE 100	  /* delta: what each further one may have more */
#define BOUNDARY_STEPS_MOST 10		  /* a rate at most doubles in a step */
#define LEAST_STEP (500 * BYTES_PER_KBIT) /* bytes/s; PCC-Uspace, 0.5 Mbit/s */
#define LEAST_RATE (500 * BYTES_PER_KBIT) /* PCC-Uspace, kMinSendingRate */
#define MOST_RATE                                                                                  \
	(100000000ULL * BYTES_PER_KBIT) /* 100 Gbit/s: a flow that others limit stops here */

/* Monitor intervals: a round trip, ten packets at least (Allegro, section 3.1). */
#define INTERVAL_PACKETS 10
#define INTERVAL_LEAST_US 1000
#define PAIRS 2 /* Allegro, section 3.2; PCC-Kernel, PCC_INTERVALS = 4 */
#define PROBES (2 * PAIRS)
#define INITIAL_PACKETS 10 /* in the first round trip: RFC 6928, as the kernel's slow start */

#define SEGMENTS_OUT_OF_ORDER 3 /* a loss is found when so many later segments have arrived */
#define SAMPLES_MOST 16384	/* of a regression: its sums fit in 64 bits */
#define SAMPLE_TICKS 4096	/* in a round trip, for the same reason */

enum vivace_mode {
	VIVACE_STARTING = 1,
	VIVACE_WAITING,
	VIVACE_HIGH,
	VIVACE_LOW,
};

enum stage {
	UNUSED,
	SENDING,
	SENT,
	KNOWN, /* all of it is acknowledged or lost */
};

struct interval {
	u64 rate; /* bytes/s */
	u64 opened_us;
	u64 first_sent_us;
	s32 first_rtt_us;
	u32 from, to; /* range of tp->delivered, without its end */
	u32 acked, lost;
	u32 tick_shift; /* a tick of the regression is 2^this microseconds */
	u32 stage;
	s64 n, t, r, tt, tr; /* sums of: samples, send times, RTTs, their squares and products */
};

struct vivace {
	struct cc_told told;
	struct interval probe[PROBES];
	u64 rate; /* r, bytes/s */
	u64 last_rate;
	s64 last_utility;
	u32 lost_before;    /* tp->lost that has been accounted for */
	u32 boundary_steps; /* k */
	u32 streak;	    /* tau: steps in one direction */
	s32 direction;
	u32 sending; /* the number of the probe that is being sent; PROBES: none */
	bool started, starting;
};
CC_STATE(struct vivace)

/* ------------------------------------------------------------------------------- utility */

#define ONE_Q30 (1ULL << 30)
#define LOG2_1000_Q16 653117 /* log2(1000) x 2^16 */

/* 2^(1/2), 2^(1/4), ... in units of 2^-30. */
static const u32 roots_of_two[16] = {
	1518500250, 1276901417, 1170923762, 1121280436, 1097253708, 1085434106,
	1079572136, 1076653033, 1075196443, 1074468888, 1074105294, 1073923544,
	1073832680, 1073787251, 1073764537, 1073753181,
};

/* log2(value) with 16 fraction bits, for 0 < value < 2^40. */
CC_MATH u32
log2_q16(u64 value)
{
	u64 mantissa;
	u32 whole = 0, fraction = 0, i;

	for (i = 0; i < 6; i++) {
		u32 half = 32 >> i;

		whole += (value >> (whole & 63)) >> half ? half : 0;
	}
	whole &= 63;
	mantissa = whole <= 30 ? value << (30 - whole) : value >> (whole - 30);
	for (i = 0; i < 16; i++) { /* without a branch: the verifier would follow 2^16 paths */
		mantissa = (mantissa * mantissa) >> 30;
		fraction = fraction << 1 | (u32)(mantissa >> 31);
		mantissa >>= mantissa >> 31;
	}
	return whole << 16 | (fraction & 0xffff);
}

/* 2^(log / 2^16), below 2^63. */
CC_MATH u64
exp2_q16(u32 log)
{
	u64 power = ONE_Q30;
	u32 whole = (log >> 16) & 63, i;

	for (i = 0; i < 16; i++) {
		u64 bit = log >> (15 - i) & 1;

		power = (power * (ONE_Q30 + ((roots_of_two[i] - ONE_Q30) & -bit))) >> 30;
	}
	return whole >= 30 ? power << (whole - 30) : power >> (30 - whole);
}

/* x^0.9 in thousandths, of x in thousandths. */
CC_INLINE u64
power_of_rate(u64 x)
{
	if (x == 0)
		return 0;
	return exp2_q16((u32)cc_div((u64)log2_q16(x) * 9 + LOG2_1000_Q16, 10));
}

/* dRTT/dt, least squares over the times of sending (PCC-Uspace, NSDI-2018), in 1/GRADIENT_UNIT. */
CC_INLINE s64
rtt_gradient(const struct interval *interval)
{
	s64 covariance = interval->n * interval->tr - interval->t * interval->r;
	s64 variance = interval->n * interval->tt - interval->t * interval->t;

	if (interval->n < 3 || variance < GRADIENT_UNIT)
		return 0;
	return cc_sdiv(covariance, cc_div(variance, GRADIENT_UNIT) << interval->tick_shift);
}

/* In thousandths. */
CC_INLINE s64
utility_of(const struct interval *interval)
{
	u64 kbit = cc_div(interval->rate, BYTES_PER_KBIT);
	u64 all = (u64)interval->acked + interval->lost, loss;
	s64 gradient = rtt_gradient(interval), latency;

	if (all == 0)
		return 0;
	if (gradient < VIVACE_GRADIENT_FILTER && gradient > -VIVACE_GRADIENT_FILTER)
		gradient = 0;
	latency = cc_sdiv((s64)kbit * LATENCY_WEIGHT * gradient, GRADIENT_UNIT);
	loss = cc_div((u64)interval->lost * GRADIENT_UNIT, all);
	loss = cc_div(kbit * loss * LOSS_WEIGHT_THOUSANDTHS, (u64)GRADIENT_UNIT * PERMILLE);
	return (s64)power_of_rate(kbit) - latency - (s64)loss;
}

/* --------------------------------------------------------------------- monitor intervals */

CC_INLINE u64
rtt_us(const struct tcp_sock *tp)
{
	return max(tp->srtt_us >> 3, 1u);
}

CC_INLINE void
open_interval(const struct tcp_sock *tp, struct interval *interval, u64 rate)
{
	u32 shift = 0, i;

	for (i = 0; i < 12; i++)
		shift += rtt_us(tp) >> i > SAMPLE_TICKS;
	interval->rate = rate;
	interval->opened_us = tp->tcp_mstamp;
	interval->from = tp->delivered;
	interval->acked = 0;
	interval->lost = 0;
	interval->tick_shift = shift;
	interval->n = 0;
	interval->t = 0;
	interval->r = 0;
	interval->tt = 0;
	interval->tr = 0;
	interval->stage = SENDING;
}

CC_INLINE bool
is_long_enough(const struct tcp_sock *tp, const struct interval *interval)
{
	u64 packets = (u64)INTERVAL_PACKETS * tp->mss_cache * USEC_PER_SEC;
	u64 length = max(rtt_us(tp), cc_div(packets, max(interval->rate, 1ULL)));

	if (tp->delivered == interval->from)
		return false;
	return tp->tcp_mstamp - interval->opened_us >= max_t(u64, length, INTERVAL_LEAST_US);
}

CC_INLINE void
close_interval(const struct tcp_sock *tp, struct interval *interval)
{
	interval->to = tp->delivered;
	interval->stage = SENT;
}

CC_INLINE void
add_rtt(const struct tcp_sock *tp, struct interval *interval, const struct rate_sample *rs)
{
	u64 sent_us = tp->tcp_mstamp - (u64)rs->rtt_us;
	s64 t, r;

	if (interval->n >= SAMPLES_MOST)
		return;
	if (interval->n == 0) {
		interval->first_sent_us = sent_us;
		interval->first_rtt_us = (s32)rs->rtt_us;
	}
	t = (s64)(sent_us - interval->first_sent_us) >> interval->tick_shift;
	r = rs->rtt_us - interval->first_rtt_us;
	interval->n++;
	interval->t += t;
	interval->r += r;
	interval->tt += t * t;
	interval->tr += t * r;
}

/* What an acknowledgement says of an interval. A loss is found some segments late, so those of its
 * first segments belong to the interval before, and it waits for some after its end.
 */
CC_INLINE void
account(const struct tcp_sock *tp, struct interval *interval, const struct rate_sample *rs,
	u32 lost)
{
	u32 sent_at = rs->prior_delivered;

	if (interval->stage != SENDING && interval->stage != SENT)
		return;
	if (!cc_before(sent_at, interval->from + SEGMENTS_OUT_OF_ORDER))
		interval->lost += lost;
	if (interval->stage == SENT && !cc_before(sent_at, interval->to)) {
		if (!cc_before(sent_at, interval->to + SEGMENTS_OUT_OF_ORDER))
			interval->stage = KNOWN;
		return;
	}
	if (cc_before(sent_at, interval->from))
		return;
	interval->acked += rs->acked_sacked;
	if (rs->rtt_us > 0 && !rs->is_ack_delayed)
		add_rtt(tp, interval, rs);
}

CC_INLINE void
account_for_all(struct vivace *vivace, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	u32 lost = tp->lost - vivace->lost_before, i;

	if (!rs->prior_mstamp) /* nothing new was delivered: its losses go with the next */
		return;
	vivace->lost_before = tp->lost;
	for (i = 0; i < PROBES; i++)
		account(tp, &vivace->probe[i], rs, lost);
}

/* -------------------------------------------------------------------------- rate control */

/* m(tau) of section 4.2: the longer it goes in one direction, the longer the steps. */
CC_INLINE u64
amplifier(u32 streak)
{
	return streak <= 3 ? streak : 2ULL * streak - 3;
}

CC_INLINE u64
boundary(const struct vivace *vivace, u32 steps)
{
	u64 permille = BOUNDARY_FIRST_PERMILLE + (u64)steps * BOUNDARY_STEP_PERMILLE;

	return cc_div(vivace->rate * permille, PERMILLE);
}

/* The dynamic boundary of section 4.2: k grows while steps exceed it, and falls to the least that
 * does not bind.
 */
CC_INLINE u64
bounded(struct vivace *vivace, u64 step)
{
	u64 most = boundary(vivace, vivace->boundary_steps);
	u32 i;

	if (step > most) {
		vivace->boundary_steps = min(vivace->boundary_steps + 1, (u32)BOUNDARY_STEPS_MOST);
		return most;
	}
	for (i = 0; i < BOUNDARY_STEPS_MOST; i++)
		if (vivace->boundary_steps > 0 &&
		    step <= boundary(vivace, vivace->boundary_steps - 1))
			vivace->boundary_steps--;
	return step;
}

CC_INLINE void
hesitate(struct vivace *vivace)
{
	vivace->streak = 0;
	vivace->boundary_steps = 0;
	vivace->direction = 0;
}

CC_INLINE void
set_base_rate(struct vivace *vivace, u64 rate)
{
	vivace->rate = max_t(u64, min_t(u64, rate, MOST_RATE), LEAST_RATE);
}

/* A step along the gradient: thousandths of utility per Mbit/s are so many kbit/s (theta_0 = 1). */
CC_INLINE void
climb(struct vivace *vivace, s64 gradient)
{
	s32 direction = gradient > 0 ? 1 : -1;
	u64 step;

	if (direction != vivace->direction)
		hesitate(vivace);
	vivace->direction = direction;
	vivace->streak = min(vivace->streak + 1, (u32)PERMILLE);
	step = (u64)(gradient * direction) * amplifier(vivace->streak) * BYTES_PER_KBIT;
	step = bounded(vivace, step);
	step = max_t(u64, step, LEAST_STEP);
	if (direction > 0)
		set_base_rate(vivace, vivace->rate + step);
	else
		set_base_rate(vivace, vivace->rate - min(step, vivace->rate));
}

CC_INLINE void
begin_probes(struct vivace *vivace, const struct tcp_sock *tp)
{
	u64 apart = cc_div(vivace->rate * PROBE_PERMILLE, PERMILLE);
	u32 coins = cc_random(), i;

	for (i = 0; i < PROBES; i += 2) {
		bool high_first = coins >> i & 1;

		vivace->probe[i].rate = high_first ? vivace->rate + apart : vivace->rate - apart;
		vivace->probe[i + 1].rate = 2 * vivace->rate - vivace->probe[i].rate;
		vivace->probe[i].stage = UNUSED;
		vivace->probe[i + 1].stage = UNUSED;
	}
	vivace->sending = 0;
	open_interval(tp, &vivace->probe[0], vivace->probe[0].rate);
}

/* How much the higher rate of a pair is better, in thousandths of utility. */
CC_INLINE s64
gain_of_pair(const struct interval *first, const struct interval *second)
{
	s64 gain = utility_of(first) - utility_of(second);

	return first->rate > second->rate ? gain : -gain;
}

CC_INLINE void
decide(struct vivace *vivace)
{
	u64 apart = cc_div(vivace->rate * 2 * PROBE_PERMILLE, (u64)PERMILLE * BYTES_PER_KBIT);
	s64 one = gain_of_pair(&vivace->probe[0], &vivace->probe[1]);
	s64 other = gain_of_pair(&vivace->probe[2], &vivace->probe[3]);

	if ((one > 0 && other > 0) || (one < 0 && other < 0))
		climb(vivace, cc_sdiv((one + other) * PERMILLE, PAIRS * max(apart, 1ULL)));
	else
		hesitate(vivace);
}

CC_INLINE void
probe_on(struct vivace *vivace, const struct tcp_sock *tp)
{
	struct interval *interval;

	if (vivace->sending >= PROBES) {
		if (vivace->probe[PROBES - 1].stage != KNOWN)
			return;
		decide(vivace);
		begin_probes(vivace, tp);
		return;
	}
	interval = &vivace->probe[vivace->sending & (PROBES - 1)];
	if (!is_long_enough(tp, interval))
		return;
	close_interval(tp, interval);
	vivace->sending++;
	if (vivace->sending < PROBES) {
		interval = &vivace->probe[vivace->sending & (PROBES - 1)];
		open_interval(tp, interval, interval->rate);
	}
}

/* Doubles until the utility falls, then goes back (Allegro, section 3.2). */
CC_INLINE void
start_on(struct vivace *vivace, const struct tcp_sock *tp)
{
	struct interval *interval = &vivace->probe[0];
	s64 utility;

	if (interval->stage == SENDING && is_long_enough(tp, interval))
		close_interval(tp, interval);
	if (interval->stage != KNOWN)
		return;
	utility = utility_of(interval);
	if (utility > vivace->last_utility) {
		vivace->last_utility = utility;
		vivace->last_rate = vivace->rate;
		set_base_rate(vivace, 2 * vivace->rate);
		open_interval(tp, interval, vivace->rate);
		return;
	}
	set_base_rate(vivace, vivace->last_rate);
	vivace->starting = false;
	begin_probes(vivace, tp);
}

/* -------------------------------------------------------------------- what the kernel calls */

CC_INLINE void
apply(struct sock *sk, struct vivace *vivace)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u64 rate = vivace->rate, window;

	vivace->told.mode = vivace->starting ? VIVACE_STARTING : VIVACE_WAITING;
	if (!vivace->starting && vivace->sending < PROBES) {
		rate = vivace->probe[vivace->sending & (PROBES - 1)].rate;
		vivace->told.mode = rate > vivace->rate ? VIVACE_HIGH : VIVACE_LOW;
	}
	vivace->told.bw = vivace->rate;
	vivace->told.pacing_gain = (u16)cc_div(rate * CC_GAIN_UNIT, vivace->rate);
	vivace->told.cwnd_gain = 2 * CC_GAIN_UNIT;
	cc_set_rate(sk, rate);
	/* The window must not bind: twice what is in flight at this rate (PCC-Kernel). */
	window = cc_div(2 * rate * rtt_us(tp), (u64)USEC_PER_SEC * max(tp->mss_cache, 1u));
	cc_set_cwnd(sk, (u32)window + INITIAL_PACKETS);
}

CC_INLINE void
start(struct vivace *vivace, const struct tcp_sock *tp)
{
	u64 window = (u64)INITIAL_PACKETS * tp->mss_cache * USEC_PER_SEC;

	vivace->started = true;
	vivace->starting = true;
	vivace->lost_before = tp->lost;
	vivace->last_utility = -(1LL << 62);
	set_base_rate(vivace, cc_div(window, rtt_us(tp)));
	vivace->last_rate = vivace->rate;
	open_interval(tp, &vivace->probe[0], vivace->rate);
}

CC_OP(void, vivace_init, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct vivace *vivace = cc_state_new(sk);

	cc_set_ssthresh(sk, TCP_INFINITE_SSTHRESH);
	cc_need_pacing(sk);
	if (!vivace || !tp->srtt_us)
		return;
	start(vivace, tp);
	apply(sk, vivace);
}

CC_MAIN(vivace_main, sk, rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct vivace *vivace = cc_state(sk);

	if (!vivace || !tp->srtt_us)
		return;
	if (!vivace->started)
		start(vivace, tp);
	account_for_all(vivace, tp, rs);
	if (vivace->starting)
		start_on(vivace, tp);
	else
		probe_on(vivace, tp);
	apply(sk, vivace);
}

/* A timeout: what was being measured is worth nothing, and the rate is halved (PCC-Uspace). */
CC_OP(void, vivace_set_state, struct sock *sk, u8 state)
{
	struct vivace *vivace = cc_state(sk);

	if (!vivace || !vivace->started || state != TCP_CA_Loss)
		return;
	set_base_rate(vivace, vivace->rate / 2);
	hesitate(vivace);
	vivace->starting = false;
	begin_probes(vivace, cc_tcp(sk));
}

CC_OP(u32, vivace_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

CC_OP(u32, vivace_undo_cwnd, struct sock *sk)
{
	return cc_tcp(sk)->snd_cwnd;
}

/* Bursts of the stack look like a queue of one's own: none larger than pacing asks for. */
CC_OP(u32, vivace_min_tso_segs, struct sock *sk)
{
	return 1;
}

CC_REGISTER(.init = vivace_init, .cong_control = vivace_main, .set_state = vivace_set_state,
	    .ssthresh = vivace_ssthresh, .undo_cwnd = vivace_undo_cwnd,
	    .min_tso_segs = vivace_min_tso_segs);
