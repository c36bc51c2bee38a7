/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What BBR keeps of a connection, and the constants that versions 2 and 3 share. Each constant's
 * source is in hosts/cc/README.md. Rates are in bytes/s, volumes in segments, gains in 1/256.
 */
#ifndef NASHBED_CC_BBR_STATE_H
#define NASHBED_CC_BBR_STATE_H

#include "history.h"

#define BBR_UNIT CC_GAIN_UNIT
#define BBR_NO_LIMIT U32_MAX
#define BBR_NO_BW (~0ULL)

#define BBR_UP_PACING 320      /* 1.25 */
#define BBR_CWND_GAIN 512      /* 2 */
#define BBR_PROBE_RTT_CWND 128 /* 0.5 */
#define BBR_PACING_PERCENT 99
#define BBR_LOSS_PERCENT 2	/* of what was in flight: more is too much */
#define BBR_BETA_PERCENT 70	/* what is kept of a volume or rate that was too high */
#define BBR_HEADROOM_PERCENT 15 /* of inflight_hi, left to others while cruising */
#define BBR_MIN_CWND 4
#ifndef BBR_PROBE_RTT_EVERY_US
#define BBR_MIN_RTT_WINDOW_US 10000000ULL
#define BBR_PROBE_RTT_EVERY_US 5000000ULL
#endif
#define BBR_PROBE_RTT_TIME_US 200000ULL
#define BBR_PROBE_WAIT_US 2000000U /* and up to BBR_PROBE_WAIT_RANDOM_US more */
#define BBR_PROBE_WAIT_RANDOM_US 1000000U
#define BBR_PROBE_MAX_ROUNDS 63U
#define BBR_FULL_BW_ROUNDS 3
#define BBR_EXTRA_ACKED_ROUNDS 5 /* two of them: a window of 5 to 10 rounds */
#define BBR_EXTRA_ACKED_MAX_US 100000ULL
#define BBR_EXTRA_ACKED_RESET (1u << 20)

/* The numbers are what a control tells as its mode. */
enum bbr_mode {
	BBR_STARTUP = 1, /* double the rate each round until the pipe is full */
	BBR_DRAIN,	 /* let go what that queued */
	BBR_DOWN,	 /* ProbeBW: below the rate, until queue and headroom are free */
	BBR_CRUISE,	 /* ProbeBW: at the rate */
	BBR_REFILL,	 /* ProbeBW: at the rate for a round, without the short-term bounds */
	BBR_UP,		 /* ProbeBW: above the rate, to find more */
	BBR_PROBE_RTT,	 /* half a BDP in flight, to see the path without a queue */
};

/* What the acknowledgements that arrive now say of the last probe. */
enum bbr_acks {
	BBR_ACKS_INIT,
	BBR_ACKS_REFILLING,
	BBR_ACKS_STARTING,
	BBR_ACKS_FEEDBACK,
	BBR_ACKS_STOPPING,
};

/* Whether it answers marks: ecn.h. */
#ifndef BBR_ECN
#define BBR_ECN false
#endif

struct bbr {
	struct cc_told told;
	struct cc_echo echo;
	u64 bw_max[2]; /* best of this cycle, and of the last */
	u64 bw_lo;     /* short-term bound, after losses */
	u64 bw_latest; /* best of this round */
	u64 full_bw;   /* what a rate must exceed by a quarter for the pipe not to be full */
	u64 undo_bw_lo;
	u64 cycle_at; /* when this phase began, us */
	u64 min_rtt_at, probe_min_at, probe_rtt_until, extra_at;
	u32 min_rtt;   /* us, of 10 s */
	u32 probe_min; /* us, since the last ProbeRTT */
	u32 wait_us;   /* from DOWN to the next probe */
	u32 inflight_lo, inflight_hi, inflight_latest;
	u32 undo_lo, undo_hi;
	u32 round_end, loss_round_end; /* values of tp->delivered */
	u32 rounds_since_probe, drain_rounds;
	u32 up_count; /* segments acknowledged for each that inflight_hi grows by */
	u32 up_acked, up_rounds;
	u32 extra[2], extra_rounds, extra_acked;
	u32 prior_cwnd, init_cwnd, lost, loss_events;
	u32 lost_no_sooner; /* tp->lost when a recovery last proved to be a mistake */
	u64 bw_hi;		       /* long-term bound of BBRv2, after marks */
	u32 ecn_delivered, ecn_marked; /* tp->delivered, tp->delivered_ce when alpha was updated */
	u32 ecn_alpha;		       /* share of marked segments, a moving average in 1/256 */
	u32 ecn_rounds;		       /* in succession with too much of it */
	u32 ce;			       /* tp->delivered_ce at the last acknowledgement */
	u16 pacing_gain, cwnd_gain;
	u8 mode, acks, full_rounds, ca_state, undo_mode;
	bool full_now;	   /* the pipe is full, says this probe */
	bool full_reached; /* it was, once */
	bool round_start, loss_round_start, loss_in_round;
	bool probe_samples; /* samples show what probing did */
	bool too_high;	    /* the last probe lost too much */
	bool stopped_risky; /* the last probe stopped at inflight_hi, as a precaution */
	bool ecn_eligible, ecn_in_round, ecn_in_cycle, loss_in_cycle;
	bool probed_well; /* this probe had a sample without too much */
	bool idle_restart, rtt_round_done, seen_rtt;
	struct bbr_history history;
};
CC_STATE(struct bbr)

/* What one acknowledgement says. */
struct bbr_sample {
	u64 bw;		/* 0: nothing */
	u32 inflight;	/* when the newest segment that it acknowledges was sent */
	u32 lost;	/* since then */
	u32 newly_lost; /* since the last acknowledgement */
};

CC_INLINE bool
bbr_in_cycle(const struct bbr *b)
{
	return b->mode >= BBR_DOWN && b->mode <= BBR_UP;
}

/* Losses while it probes are the probe's, and do not lower the short-term bounds. */
CC_INLINE bool
bbr_is_probing(const struct bbr *b)
{
	return b->mode == BBR_STARTUP || b->mode == BBR_REFILL || b->mode == BBR_UP;
}

CC_INLINE u64
bbr_max_bw(const struct bbr *b)
{
	return max(b->bw_max[0], b->bw_max[1]);
}

CC_INLINE u64
bbr_bw(const struct bbr *b)
{
	u64 most = bbr_max_bw(b);

	most = min(most, b->bw_hi);
	return min(most, b->bw_lo);
}

CC_INLINE void
bbr_start_round(struct bbr *b, const struct tcp_sock *tp)
{
	b->round_end = tp->delivered;
}

CC_INLINE u32
bbr_percent(u32 value, u32 percent)
{
	return (u32)cc_div((u64)value * percent, 100);
}

#endif
