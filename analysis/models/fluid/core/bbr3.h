/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BBR3_H
#define BBR3_H

#include "bbr_parts.h"

enum bbr3_mode {
	BBR3_STARTUP,
	BBR3_DRAIN,
	/* ProbeBW: below the rate, at it, at it without the short-term bounds, above it. */
	BBR3_DOWN,
	BBR3_CRUISE,
	BBR3_REFILL,
	BBR3_UP,
	BBR3_PROBE_RTT
};

/* What the acknowledgements that arrive now say of the last probe. */
enum bbr3_acks {
	BBR3_ACKS_INIT,
	BBR3_ACKS_REFILLING,
	BBR3_ACKS_STARTING,
	BBR3_ACKS_FEEDBACK,
	BBR3_ACKS_STOPPING
};

/* In what versions 2 and 3 differ; bbr3.c has the sources. */
struct bbr3_rules {
	double startup_pacing;
	double startup_window;
	double drain_pacing;
	double drain_rounds;
	double down_pacing;
	double up_window;
	double startup_losses;
	/* The pipe is full by each sample, in Startup and in UP; not: by the best, in Startup. */
	bool full_by_sample;
};

/* The state of BBR versions 2 and 3; rates in packets per second, volumes in packets. */
struct bbr3 {
	const struct bbr3_rules *rules;
	enum bbr3_mode mode;
	enum bbr3_acks acks;
	/* Best rate of this cycle and of the last. */
	double best[2];
	/* Short-term bounds, infinite without one, and the best of this round for them. */
	double rate_low;
	double volume_low;
	double rate_latest;
	double volume_latest;
	double volume_high;
	double loss_round_start;
	bool loss_round;
	bool loss_in_round;
	/* Losses of this round, and when the last was: Startup ends by them in recovery. */
	double losses;
	double recovery_until;
	struct bbr_full_pipe pipe;
	bool full_now;
	bool full_reached;
	double drain_rounds;
	/* The cycle. */
	double cycle_start;
	double wait;
	double rounds_since_probe;
	/* Packets acknowledged for each that `volume_high` grows by. */
	double up_count;
	uint32_t up_rounds;
	bool probe_samples;
	bool too_high;
	bool stopped_risky;
	/* Acknowledged beyond the rate: most of two spans of rounds, and since when it is counted. */
	double extra[2];
	double extra_rounds;
	double extra_acked;
	double extra_since;
	double min_rtt;
	double min_rtt_at;
	double probe_min;
	double probe_min_at;
	struct bbr_probe_rtt probe;
	double window_before;
	/* Nothing has been acknowledged since it began to send: no time for ProbeRTT. */
	bool idle_restart;
	/* Samples of packets sent before this are low by intention. */
	double limited_until;
};

#endif
