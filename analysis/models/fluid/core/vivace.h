/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIVACE_H
#define VIVACE_H

#include <stdbool.h>
#include <stdint.h>

#define VIVACE_PROBES 4

/* What was sent at one rate from one time to another, and what came of it. */
struct vivace_interval {
	double rate;
	double opened;
	/* Infinite: it is being sent. */
	double closed;
	double acked;
	double missed;
	/* Weights of samples, and of send times, RTTs, squares and products from the first on. */
	double first_rtt;
	double n, t, r, tt, tr;
};

/* PCC Vivace's state; rates in packets per second. */
struct vivace {
	struct vivace_interval probe[VIVACE_PROBES];
	double rate;
	double last_rate;
	double last_utility;
	double smoothed_rtt;
	double least_rtt;
	double boundary_steps;
	double streak;
	int direction;
	/* The probe that is being sent; VIVACE_PROBES: none. */
	uint32_t sending;
	bool starting;
};

#endif
