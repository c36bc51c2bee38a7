/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A queue that loses its patience: of the packets that have waited longer than `patience`, some are
 * marked, or dropped if they do not understand ECN, when their turn comes. Change it as you like:
 * `nashbed aqm check` says whether it still is a queue.
 *
 * aqm.h says when each function is called, and what a packet is. Take no time but `now_ns`, draw no
 * number but from the seed, and a run repeats to the bit.
 */
#include "aqm.h"

/* What a scenario sets: `discipline: {file: ./mine.c, params: {patience: 20ms, chance: 10%}}`. */
struct config {
	uint64_t patience; /* ns */
	double chance;
};

static const struct aqm_param params[] = {
	{"patience", AQM_TIME, offsetof(struct config, patience), 10e6, 1e3, 10e9,
	 "how long a packet may wait before it is in danger"},
	{"chance", AQM_PROBABILITY, offsetof(struct config, chance), 0.05, 0, 1,
	 "how often one that has waited longer is marked or dropped"},
	{0},
};

/* All that the queue remembers. */
struct state {
	struct fifo packets; /* the first, for aqm_free_queue() */
	struct config config;
	uint64_t draws;
};

/* Called before the first packet; the memory is all zeroes. */
static int
init(void *memory, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct state *s = memory;

	(void)line; /* the line's rate and the queue's limit, where they matter */
	s->config = *(const struct config *)config;
	s->draws = seed;
	fifo_init(&s->packets, sizeof(struct queue_packet));
	return 0;
}

/* A packet arrives that fits into the buffer: take it and return true, or refuse it. */
static bool
enqueue(void *memory, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = memory;

	return aqm_push(&s->packets, packet);
}

static bool
is_unlucky(struct state *s, const struct queue_packet *packet, uint64_t now_ns)
{
	if (now_ns - packet->enqueue_ns <= s->config.patience)
		return false;
	return (double)(prng_next(&s->draws) >> 11) * 0x1p-53 < s->config.chance;
}

/* The line is free: the packet to be sent next. Each that was taken is sent, or given to
 * line->drop(), once.
 */
static bool
dequeue(void *memory, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = memory;

	while (aqm_pop(&s->packets, packet)) {
		if (!is_unlucky(s, packet, now_ns) || aqm_mark(packet))
			return true;
		line->drop(line, packet, DROP_EARLY, now_ns);
	}
	return false;
}

static const struct aqm_ops ops = {
	.abi = AQM_ABI,
	.name = "mine",
	.help = "drops or marks some of the packets that have waited too long",
	.params = params,
	.config_bytes = sizeof(struct config),
	.state_bytes = sizeof(struct state),
	.init = init,
	.fini = aqm_free_queue,
	.enqueue = enqueue,
	.dequeue = dequeue,
};

AQM_EXPORT(ops);
