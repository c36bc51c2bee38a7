// SPDX-License-Identifier: Apache-2.0
#include "slots.h"
#include "bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less than this of a packet is rounding. */
#define NOTHING 1e-12
/* What a queue may hold back beside its own time: a second round trip, and rounding. */
#define SPARE 64

bool
slots_make(struct slots *slots, double rate, double buffer, double slot, uint32_t cohorts,
	   double longest_rtt)
{
	uint64_t needed = (uint64_t)((buffer / rate + 2 * longest_rtt) / slot) + SPARE;
	uint64_t length = 1;

	while (length < needed)
		length *= 2;
	*slots = (struct slots){.slot = slot,
				.cohorts = cohorts,
				.mask = length - 1,
				.rate = rate,
				.buffer = buffer};
	slots->queued = calloc(length * cohorts, sizeof(double));
	slots->acked = calloc(length * cohorts, sizeof(double));
	slots->lost = calloc(length * cohorts, sizeof(double));
	slots->delivered = calloc(length * cohorts, sizeof(double));
	slots->flight = calloc(length * cohorts, sizeof(double));
	slots->missed = calloc(length * cohorts, sizeof(double));
	slots->total = calloc(length, sizeof(double));
	slots->delay = calloc(length, sizeof(double));
	slots->stay = calloc(length, sizeof(double));
	slots->path = calloc(cohorts, sizeof(*slots->path));
	slots->departed = calloc(cohorts, sizeof(double));
	slots->dropped = calloc(cohorts, sizeof(double));
	return slots->queued && slots->acked && slots->lost && slots->delivered && slots->flight &&
	       slots->missed && slots->total && slots->delay && slots->stay && slots->path &&
	       slots->departed && slots->dropped;
}

void
slots_free(struct slots *slots)
{
	free(slots->queued);
	free(slots->acked);
	free(slots->lost);
	free(slots->delivered);
	free(slots->flight);
	free(slots->missed);
	free(slots->total);
	free(slots->delay);
	free(slots->stay);
	free(slots->path);
	free(slots->departed);
	free(slots->dropped);
}

static void
arrive(struct slots *slots, uint64_t t, const double *sent)
{
	double arriving = 0, room, drop = 0;
	double *queued = slots_at(slots, slots->queued, t);
	uint64_t seen;

	for (uint32_t i = 0; i < slots->cohorts; i++)
		arriving += sent[i];
	room = slots->buffer - slots->backlog + slots->rate * slots->slot;
	if (arriving > room)
		drop = (arriving - room) / arriving;
	seen = (uint64_t)(slots->backlog / slots->rate / slots->slot + 0.5) + 1;
	for (uint32_t i = 0; i < slots->cohorts; i++) {
		queued[i] = sent[i] * (1 - drop);
		slots->dropped[i] = sent[i] * drop;
		if (drop > 0)
			slots_at(slots, slots->lost, t + seen + slots->path[i])[i] +=
				slots->dropped[i];
	}
	slots->total[t & slots->mask] = arriving * (1 - drop);
	slots->delay[t & slots->mask] = slots->backlog / slots->rate;
	slots->backlog += arriving * (1 - drop);
}

static void
depart(struct slots *slots, uint64_t t, double part)
{
	double *queued = slots_at(slots, slots->queued, slots->head);

	for (uint32_t i = 0; i < slots->cohorts; i++) {
		double leaving = queued[i] * part;

		queued[i] -= leaving;
		slots->departed[i] += leaving;
		slots_at(slots, slots->acked, t + slots->path[i])[i] += leaving;
	}
}

static void
serve(struct slots *slots, uint64_t t)
{
	double left = slots->rate * slots->slot;

	memset(slots->departed, 0, slots->cohorts * sizeof(double));
	while (left > NOTHING) {
		double *have = &slots->total[slots->head & slots->mask], taken;

		if (*have > NOTHING) {
			taken = smaller(*have, left);
			depart(slots, t, taken / *have);
			*have -= taken;
			left -= taken;
			slots->backlog -= taken;
		}
		if (*have > NOTHING || slots->head == t)
			break;
		slots->head++;
	}
	slots->backlog = larger(0, slots->backlog);
	slots->stay[t & slots->mask] = slots->delay[slots->head & slots->mask];
}

void
slots_pass(struct slots *slots, uint64_t t, const double *sent)
{
	arrive(slots, t, sent);
	serve(slots, t);
}
