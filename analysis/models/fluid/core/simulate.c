// SPDX-License-Identifier: Apache-2.0
#include "bounds.h"
#include "cohort.h"
#include "slots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORTEST_SLOT 0.0005
#define LONGEST_SLOT 0.008
#define MOST_SLOTS 1e9
#define ROUNDING 1e-9
/* The loss rate is a mean over so many round trips. */
#define LOSS_MEMORY 4.0

static const struct cca *const ccas[] = {
	&cubic_cca, &bbr_cca, &bbr2_cca, &bbr3_cca, &copa_cca, &copa_default_cca, &vivace_cca,
};
#define CCAS (sizeof(ccas) / sizeof(ccas[0]))

struct events {
	uint64_t number;
	double cut;
	double begun;
};

struct simulation {
	const struct fluid_question *question;
	struct fluid_answer *answer;
	struct slots slots;
	struct chance chance;
	uint32_t cohorts;
	struct cohort cohort[FLUID_MAX_COHORTS];
	double sent[FLUID_MAX_COHORTS];
	struct events events[FLUID_MAX_KINDS];
	double measured_time;
	/* Flows with a smallest round-trip time, over all measured slots. */
	double believers[FLUID_MAX_KINDS];
};

const char *
nashbed_fluid_cca(uint32_t index)
{
	return index < CCAS ? ccas[index]->name : NULL;
}

static const struct cca *
cca_of(const char *name)
{
	for (uint32_t i = 0; i < CCAS; i++)
		if (strcmp(ccas[i]->name, name) == 0)
			return ccas[i];
	return NULL;
}

/* Flows in as many cohorts of equal size as there are flows, up to a limit. */
static enum fluid_status
split(struct simulation *sim, uint32_t index)
{
	const struct fluid_kind *kind = &sim->question->kind[index];
	const struct cca *cca = cca_of(kind->cca);
	uint32_t parts = (uint32_t)smaller(kind->flows, sim->question->constants.cohorts);

	if (!cca)
		return FLUID_NO_SUCH_CCA;
	if (sim->cohorts + parts > FLUID_MAX_COHORTS)
		return FLUID_TOO_LARGE;
	for (uint32_t i = 0; i < parts; i++) {
		double start = kind->start + kind->start_spread * chance_draw(&sim->chance);
		double connecting = kind->connecting > 0 ? kind->start + kind->connecting : 0;
		double connected = connecting * chance_draw(&sim->chance) - kind->connecting;

		sim->cohort[sim->cohorts++] =
			(struct cohort){.cca = cca,
					.constants = &sim->question->constants,
					.chance = &sim->chance,
					.kind = index,
					.flows = kind->flows / parts,
					.base_rtt = kind->base_rtt,
					.start = start,
					.connected_at = connected,
					.most_window = kind->window,
					.round_start = start};
	}
	return FLUID_OK;
}

static enum fluid_status
prepare(struct simulation *sim)
{
	const struct fluid_question *question = sim->question;
	double shortest = INFINITY, longest = 0, slot;
	enum fluid_status status = FLUID_OK;

	sim->chance.state = question->seed;
	for (uint32_t i = 0; i < question->kinds && status == FLUID_OK; i++) {
		shortest = smaller(shortest, question->kind[i].base_rtt);
		longest = larger(longest, question->kind[i].base_rtt);
		sim->events[i].begun = -INFINITY;
		status = split(sim, i);
	}
	if (status != FLUID_OK)
		return status;
	slot = smaller(LONGEST_SLOT,
		       larger(SHORTEST_SLOT, shortest / question->constants.slots_per_rtt));
	/* A whole number of slots to the shortest round trip, so that nobody's is rounded. */
	slot = shortest / ceil(shortest / slot - ROUNDING);
	if (question->duration / slot > MOST_SLOTS)
		return FLUID_TOO_LARGE;
	if (!slots_make(&sim->slots, question->rate, question->buffer, slot, sim->cohorts, longest))
		return FLUID_NO_MEMORY;
	for (uint32_t i = 0; i < sim->cohorts; i++)
		sim->slots.path[i] = (uint32_t)larger(1, lround(sim->cohort[i].base_rtt / slot));
	return FLUID_OK;
}

/* Delivered to one flow of a cohort until a time, between the slots that hold it. */
static double
delivered_at(struct simulation *sim, uint32_t i, uint64_t t, double back)
{
	double slots_back = back / sim->slots.slot;
	uint64_t whole = (uint64_t)slots_back;
	double part = slots_back - (double)whole, later, earlier;

	if (whole + 1 > t || whole + 1 > sim->slots.mask)
		return 0;
	later = slots_at(&sim->slots, sim->slots.delivered, t - whole)[i];
	earlier = slots_at(&sim->slots, sim->slots.delivered, t - whole - 1)[i];
	return later + part * (earlier - later);
}

/*
 * The round-trip time of what a cohort's flows get acknowledged in a slot. A packet of data also takes
 * its own time on the link; those of a handshake are short.
 */
static double
rtt_at(const struct simulation *sim, uint32_t i, uint64_t t)
{
	const struct slots *slots = &sim->slots;
	double queued = t >= slots->path[i] ? slots->stay[(t - slots->path[i]) & slots->mask] : 0;

	return sim->cohort[i].base_rtt + queued + 1 / slots->rate;
}

/*
 * The delivery rate as tcp_rate.c has it: what was delivered since the packet was sent that is
 * acknowledged now, by the longer one of the times that it took to send and to acknowledge that.
 */
static void
sample(struct simulation *sim, uint32_t i, uint64_t t, struct ack *ack)
{
	const struct slots *slots = &sim->slots;
	uint64_t back = (uint64_t)(ack->rtt / slots->slot + 0.5);
	double sending = back <= t ? rtt_at(sim, i, t - back) : ack->rtt;

	ack->delivered = sim->cohort[i].delivered - delivered_at(sim, i, t, ack->rtt);
	ack->rate = ack->delivered / larger(ack->rtt, sending);
	ack->others = larger(0, 1 - ack->rate / sim->slots.rate);
	if (back > t)
		return;
	ack->sent_flight = slots_at(slots, slots->flight, t - back)[i];
	ack->sent_missed = slots_at(slots, slots->missed, t - back)[i];
}

static void
acknowledge(struct simulation *sim, uint32_t i, uint64_t t)
{
	struct cohort *flows = &sim->cohort[i];
	struct slots *slots = &sim->slots;
	double *acked = &slots_at(slots, slots->acked, t)[i];
	double *lost = &slots_at(slots, slots->lost, t)[i];
	struct ack ack = {.now = (double)t * slots->slot,
			  .slot = slots->slot,
			  .acked = *acked / flows->flows,
			  .lost = *lost / flows->flows};

	*acked = *lost = 0;
	flows->in_flight = larger(0, flows->in_flight - ack.acked - ack.lost);
	flows->delivered += ack.acked;
	slots_at(slots, slots->delivered, t)[i] = flows->delivered;
	if (!flows->started)
		return;
	ack.rtt = rtt_at(sim, i, t);
	if (ack.acked + ack.lost > 0)
		flows->loss_rate += slots->slot / (LOSS_MEMORY * ack.rtt) *
				    (ack.lost / (ack.acked + ack.lost) - flows->loss_rate);
	ack.loss_rate = flows->loss_rate;
	if (ack.acked > 0) {
		sample(sim, i, t, &ack);
		ack.round = ack.now - ack.rtt >= flows->round_start;
		if (ack.round)
			flows->round_start = ack.now;
	}
	flows->cca->on_ack(flows, &ack);
	flows->window = smaller(flows->window, flows->most_window);
}

static void
connect(const struct simulation *sim, struct cohort *flows, double now)
{
	if (now >= flows->connected_at)
		flows->handshake_rtt = flows->base_rtt + sim->slots.backlog / sim->slots.rate;
}

static double
send(struct simulation *sim, struct cohort *flows, double now)
{
	double sent;

	if (flows->handshake_rtt <= 0)
		connect(sim, flows, now);
	if (now < flows->start || now < flows->silent_until)
		return 0;
	if (!flows->started) {
		flows->started = true;
		flows->cca->start(flows, now);
	}
	sent = larger(0, flows->window - flows->in_flight);
	sent = smaller(sent, flows->pacing_rate * sim->slots.slot);
	flows->in_flight += sent;
	return sent * flows->flows;
}

/* What acknowledgements of what is sent in this slot will be compared with. */
static void
remember(struct simulation *sim, uint64_t t)
{
	double *flight = slots_at(&sim->slots, sim->slots.flight, t);
	double *missed = slots_at(&sim->slots, sim->slots.missed, t);

	for (uint32_t i = 0; i < sim->cohorts; i++) {
		flight[i] = sim->cohort[i].in_flight;
		missed[i] = sim->cohort[i].missed;
	}
}

/* Flows that cut within a round trip and a quarter of one another are one congestion event. */
static void
count_cuts(struct simulation *sim, struct cohort *flows, double now)
{
	struct events *events = &sim->events[flows->kind];
	double length = 1.25 * flows->base_rtt + sim->slots.backlog / sim->slots.rate;

	flows->cut = false;
	if (now < sim->question->measured_from)
		return;
	if (now > events->begun + length) {
		events->begun = now;
		events->number += 1;
	}
	if (flows->event == events->number)
		return;
	flows->event = events->number;
	events->cut += flows->flows;
}

/* What flows believe in, once they have seen a round-trip time. */
static void
count_min_rtt(struct simulation *sim, const struct cohort *flows)
{
	double min_rtt = flows->started ? flows->cca->min_rtt(flows) : INFINITY;

	if (isinf(min_rtt))
		return;
	sim->answer->min_rtt[flows->kind] += min_rtt * flows->flows;
	sim->believers[flows->kind] += flows->flows;
}

static void
count(struct simulation *sim, uint64_t t, double now)
{
	struct slots *slots = &sim->slots;
	struct fluid_answer *answer = sim->answer;
	uint32_t kinds = sim->question->kinds;
	uint32_t bin = (uint32_t)(now / sim->question->bin);
	double delay = slots->delay[t & slots->mask];
	bool measured = now >= sim->question->measured_from;

	for (uint32_t i = 0; i < sim->cohorts; i++) {
		uint32_t kind = sim->cohort[i].kind;

		if (bin < sim->question->bins)
			answer->course_departed[bin * kinds + kind] += slots->departed[i];
		if (!measured)
			continue;
		answer->departed[kind] += slots->departed[i];
		answer->sent[kind] += sim->sent[i];
		answer->dropped[kind] += slots->dropped[i];
		count_min_rtt(sim, &sim->cohort[i]);
	}
	if (bin < sim->question->bins)
		answer->course_queue[bin] += delay * slots->slot / sim->question->bin;
	if (measured) {
		answer->queue_delay += delay;
		sim->measured_time += slots->slot;
	}
}

static void
run(struct simulation *sim)
{
	uint64_t slots = (uint64_t)(sim->question->duration / sim->slots.slot);

	for (uint64_t t = 0; t < slots; t++) {
		double now = (double)t * sim->slots.slot;

		for (uint32_t i = 0; i < sim->cohorts; i++) {
			acknowledge(sim, i, t);
			if (sim->cohort[i].cut)
				count_cuts(sim, &sim->cohort[i], now);
		}
		for (uint32_t i = 0; i < sim->cohorts; i++)
			sim->sent[i] = send(sim, &sim->cohort[i], now);
		remember(sim, t);
		slots_pass(&sim->slots, t, sim->sent);
		count(sim, t, now);
	}
}

static void
summarise(struct simulation *sim)
{
	struct fluid_answer *answer = sim->answer;
	double slots = sim->measured_time / sim->slots.slot, departed = 0;

	for (uint32_t i = 0; i < sim->question->kinds; i++) {
		const struct events *events = &sim->events[i];
		double flows = sim->question->kind[i].flows;

		departed += answer->departed[i];
		answer->min_rtt[i] /= sim->believers[i];
		answer->losing[i] =
			events->number > 0 ? events->cut / (double)events->number / flows : NAN;
	}
	answer->queue_delay /= slots;
	answer->utilisation = departed / (sim->question->rate * sim->measured_time);
}

enum fluid_status
nashbed_fluid(const struct fluid_question *question, struct fluid_answer *answer)
{
	struct simulation *sim;
	enum fluid_status status;

	if (question->size != sizeof(*question))
		return FLUID_OTHER_VERSION;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return FLUID_NO_MEMORY;
	sim->question = question;
	sim->answer = answer;
	status = prepare(sim);
	if (status == FLUID_OK) {
		run(sim);
		summarise(sim);
	}
	slots_free(&sim->slots);
	free(sim);
	return status;
}
