/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A policy of shared memory after ABM (Addanki et al., SIGCOMM 2022): a queue's threshold is alpha
 * times what is free, divided among the queues that are congested, and by how fast it is served.
 * So what fills the memory, and cannot leave soon, gets little of it. Change it as you like:
 * `nashbed aqm check` says whether packets still fare as they must.
 *
 * memory.h says what a policy sees, and when it is asked. Take no time but `now_ns`, draw no number
 * but from the seed, and a run repeats to the bit.
 */
#include "memory.h"

#define CONGESTED 0.9 /* of its threshold */

/* What a scenario sets: `memory: {file: ./mine.c, params: {alpha: 2}}`. */
struct config {
	double alpha;
};

static const struct aqm_param params[] = {
	{"alpha", AQM_REAL, offsetof(struct config, alpha), 1, 0.0625, 64,
	 "how much of the memory that is free a queue may have where it is alone"},
	{0},
};

/* All that the policy remembers: the threshold that each queue had last. */
struct state {
	double thresholds[QUEUES_MAX];
};

static bool
is_congested(const struct state *s, const struct memory *memory, uint32_t queue)
{
	double bytes = (double)memory->queues[queue].bytes;

	return bytes > 0 && bytes >= CONGESTED * s->thresholds[queue];
}

/* Others than this one. */
static uint32_t
congested(const struct state *s, const struct memory *memory, uint32_t queue)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < memory->n_queues; i++)
		n += i != queue && is_congested(s, memory, i);
	return n;
}

/* The queue's share of the line while those wait that wait now. */
static double
speed(const struct memory *memory, uint32_t queue)
{
	uint32_t all = memory->queues[queue].weight;

	for (uint32_t i = 0; i < memory->n_queues; i++) {
		if (i == queue || !memory->queues[i].is_backlogged)
			continue;
		if (memory->scheduler == SCHEDULER_STRICT_PRIORITY && i < queue)
			return 0;
		if (memory->scheduler == SCHEDULER_DRR)
			all += memory->queues[i].weight;
	}
	return (double)memory->queues[queue].weight / all;
}

/* A packet arrives: how many bytes its queue may have with it. */
static uint64_t
threshold(void *state, const void *config, const struct memory *memory, uint32_t queue,
	  uint64_t now_ns)
{
	struct state *s = state;
	const struct config *given = config;
	double free_bytes = (double)(memory->total_bytes - memory->used_bytes);

	s->thresholds[queue] = given->alpha * free_bytes * speed(memory, queue) /
			       (1 + congested(s, memory, queue));
	return (uint64_t)s->thresholds[queue];
}

static const struct memory_ops ops = {
	.abi = MEMORY_ABI,
	.name = "mine",
	.help = "alpha times what is free, by speed and divided among the congested",
	.params = params,
	.config_bytes = sizeof(struct config),
	.state_bytes = sizeof(struct state),
	.threshold = threshold,
};

MEMORY_EXPORT(ops);
