/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COPA_H
#define COPA_H

#include "sliding.h"

#include <stdbool.h>

/* Copa's state; windows in packets, times in seconds. */
struct copa {
	bool competes;
	struct sliding_min min_rtt;
	struct sliding_min standing;
	struct sliding_min least_queue;
	/* Of -RTT. */
	struct sliding_min max_rtt;
	double smoothed_rtt;
	/* With its fraction; what is sent by is whole. */
	double window;
	double window_at_round_start;
	double velocity;
	double same;
	/* 1/delta. */
	double packets;
	/* Since losses were judged last. */
	double acked;
	double missed;
	bool up;
	bool slow_start;
	bool competitive;
	bool missed_in_round;
	bool measured;
};

#endif
