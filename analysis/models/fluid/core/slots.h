/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue and the path behind it, in slots of time.
 *
 * A slot of the queue holds what arrived in it, cohort by cohort, and leaves in order. What leaves
 * comes back as acknowledgements a base RTT later; what is dropped is missed when the packets that
 * arrived with it come back.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct slots {
	double slot;
	uint32_t cohorts;
	/* Rings of `mask` + 1 slots, `cohorts` values each. */
	uint64_t mask;
	double *queued;
	double *acked;
	double *lost;
	double *delivered;
	double *flight;
	double *missed;
	/* Rings of one value. */
	double *total;
	double *delay;
	double *stay;

	double rate;
	double buffer;
	double backlog;
	uint64_t head;
	/* Of the cohorts: base RTT in slots, and packets that left or were dropped in this slot. */
	uint32_t *path;
	double *departed;
	double *dropped;
};

bool slots_make(struct slots *slots, double rate, double buffer, double slot, uint32_t cohorts,
		double longest_rtt);
void slots_free(struct slots *slots);

static inline double *
slots_at(const struct slots *slots, double *ring, uint64_t t)
{
	return ring + (t & slots->mask) * slots->cohorts;
}

/* Take what was sent in slot t into the queue, drop what has no room, and serve. */
void slots_pass(struct slots *slots, uint64_t t, const double *sent);

#endif
