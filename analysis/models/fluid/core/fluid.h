/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CCAs by their rules at a drop-tail queue, with fluid in place of packets.
 *
 * Time passes in slots. Flows of one kind are split into cohorts, whose flows do the same at the
 * same time; chance differs from one cohort to the next. Packets are full frames, windows and
 * everything in flight are packets of one flow, rates packets per second of one flow, times
 * seconds.
 */
#ifndef FLUID_H
#define FLUID_H

#include <stdint.h>

#define FLUID_MAX_KINDS 16
#define FLUID_MAX_COHORTS 64

/* What the rules do not say; analysis/models/fluid/native.py tells the meaning of each. */
struct fluid_constants {
	double losing_packets;
	double rate_noise;
	double aggregated_packets;
	double timeout_weight;
	double slots_per_rtt;
	double cohorts;
};

/* Flows that differ in nothing but chance. */
struct fluid_kind {
	const char *cca;
	double flows;
	double base_rtt;
	double start;
	double start_spread;
	double window;
	/* How long before time 0 they begin to connect, evenly until `start`; 0: all at time 0. */
	double connecting;
};

struct fluid_question {
	/* sizeof(struct fluid_question): the caller was written for this library. */
	uint64_t size;
	double rate;
	double buffer;
	double duration;
	double measured_from;
	double bin;
	uint64_t seed;
	uint32_t kinds;
	uint32_t bins;
	struct fluid_kind kind[FLUID_MAX_KINDS];
	struct fluid_constants constants;
};

/* Totals over the measured time; arrays of one value for each kind. */
struct fluid_answer {
	double departed[FLUID_MAX_KINDS];
	double sent[FLUID_MAX_KINDS];
	double dropped[FLUID_MAX_KINDS];
	double min_rtt[FLUID_MAX_KINDS];
	double losing[FLUID_MAX_KINDS];
	double queue_delay;
	double utilisation;
	/* The caller's: bins x kinds packets that departed, and bins mean queueing delays. */
	double *course_departed;
	double *course_queue;
};

enum fluid_status {
	FLUID_OK,
	FLUID_OTHER_VERSION,
	FLUID_NO_SUCH_CCA,
	FLUID_NO_MEMORY,
	FLUID_TOO_LARGE,
};

enum fluid_status nashbed_fluid(const struct fluid_question *question, struct fluid_answer *answer);

/* Names of the CCAs, one after the other; NULL behind the last. */
const char *nashbed_fluid_cca(uint32_t index);

#endif
