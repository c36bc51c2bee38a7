/* SPDX-License-Identifier: Apache-2.0 */
/* What the versions of BBR have in common. */
#ifndef BBR_COMMON_H
#define BBR_COMMON_H

#include "bounds.h"
#include "cohort.h"

#define BBR_INITIAL_WINDOW 10.0
#define BBR_LEAST_WINDOW 4.0
/* Rates are paced one percent below the estimate. */
#define BBR_PACING_MARGIN 0.99
/* A pipe is full after three rounds without a quarter more bandwidth. */
#define BBR_FULL_GROWTH 1.25
#define BBR_FULL_ROUNDS 3
#define BBR_MIN_RTT_WINDOW 10.0
#define BBR_PROBE_RTT_TIME 0.2
/* Beside its gain the window of a flow that probes. */
#define BBR_PROBE_EXTRA 2.0
/* Segments of one burst: what is paced in 2^-10 s, at least one or two, at most 64 KiB. */
#define BBR_BURSTS_PER_SECOND 1024.0
#define BBR_MOST_SEGMENTS 43.0
#define BBR_BURSTS_ALLOWED 3.0
/* What acknowledgements that are held back may ask for, in seconds of the rate. */
#define BBR_MOST_AGGREGATED 0.1

/*
 * The delivery rate. Of all packets that leave in a round those of one flow are a random sample, so
 * that their number is off by a part of its binomial standard deviation; and the largest counts.
 */
static inline double
bbr_sampled_rate(const struct cohort *flows, const struct ack *ack)
{
	double packets = ack->rate * ack->rtt;

	return ack->rate + flows->constants->rate_noise * sqrt(packets * ack->others) / ack->rtt;
}

static inline void
bbr_full_pipe_watch(struct bbr_full_pipe *pipe, double rate)
{
	*pipe = (struct bbr_full_pipe){.rate = rate};
}

/* Whether the rate has stopped growing; asked once a round, or at each acknowledgement. */
static inline bool
bbr_full_pipe_check(struct bbr_full_pipe *pipe, double rate, bool round)
{
	if (rate >= pipe->rate * BBR_FULL_GROWTH)
		bbr_full_pipe_watch(pipe, rate);
	else if (round)
		pipe->rounds++;
	return pipe->rounds >= BBR_FULL_ROUNDS;
}

/* ProbeRTT ends 200 ms, and a round, after the flight has come down to its window. */
static inline bool
bbr_probe_rtt_over(struct bbr_probe_rtt *probe, struct cohort *flows, const struct ack *ack,
		   double window)
{
	if (probe->until <= 0) {
		if (flows->in_flight > window + 0.001)
			return false;
		probe->until = ack->now + BBR_PROBE_RTT_TIME;
		probe->round = false;
		flows->round_start = ack->now;
		return false;
	}
	probe->round = probe->round || ack->round;
	return probe->round && ack->now > probe->until;
}

#endif
