/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BBR_H
#define BBR_H

#include "bbr_parts.h"

#define BBR_ROUNDS 10

enum bbr_mode {
	BBR_STARTUP,
	BBR_DRAIN,
	BBR_PROBE_BW,
	BBR_PROBE_RTT
};

/* The state of BBR version 1. */
struct bbr {
	enum bbr_mode mode;
	uint32_t phase;
	double phase_start;
	/* Largest rate of this round, and of the ones before it. */
	double best[BBR_ROUNDS];
	double best_before;
	double rate;
	struct bbr_full_pipe pipe;
	double min_rtt;
	double min_rtt_at;
	/* The window before ProbeRTT or a recovery. */
	double window_before;
	bool recovering;
	double recovery_until;
	struct bbr_probe_rtt probe;
};

#endif
