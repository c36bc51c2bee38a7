/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Fair queueing with CoDel (RFC 8290), as sch_fq_codel: flows are hashed to queues, which deficit
 * round robin serves, those that have become busy lately first, and each has a CoDel of its own.
 * Where the limit is exceeded the longest queue loses half of its bytes, or a batch of packets,
 * from its head.
 */
#include <errno.h>
#include <stdlib.h>

#include "codel.h"

#define SLOTS 1024u	  /* for waiting packets, at first */
#define NOBODY UINT32_MAX /* the end of a list */

/* A waiting packet: in the list of its queue, or of those that are free. */
struct waiting {
	struct queue_packet packet;
	uint32_t next;
};

/* First in, first out, by numbers. */
struct list {
	uint32_t first, last;
};

struct queue {
	struct list packets; /* numbers of struct waiting */
	uint64_t bytes;
	int64_t deficit; /* what it may still send in its turn */
	bool is_active;	 /* in a list of queues, perhaps empty */
	uint32_t next;
	struct codel codel;
};

struct state {
	struct fq_codel_config config;
	struct codel_rules rules;
	uint64_t seed;
	struct queue *queues;
	struct list fresh, old; /* numbers of queues */
	struct waiting *slots;
	uint32_t n_slots, free_slot;
};

/* A queue that CoDel pops packets from. */
struct source {
	struct state *state;
	struct queue *queue;
};

static const char *
check(void *config, const struct aqm_line *line)
{
	return codel_check(&((struct fq_codel_config *)config)->codel);
}

static int
init(void *memory, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct state *s = memory;

	s->config = *(const struct fq_codel_config *)config;
	s->rules = codel_rules_of(&s->config.codel);
	s->seed = seed;
	s->fresh.first = s->old.first = s->free_slot = NOBODY;
	s->queues = calloc(s->config.flows, sizeof(*s->queues));
	if (s->queues == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < s->config.flows; i++)
		s->queues[i].packets.first = NOBODY;
	return 0;
}

static void
fini(void *memory)
{
	struct state *s = memory;

	free(s->queues);
	free(s->slots);
}

/* Put a queue at the end of a list. */
static void
line_up(struct state *s, struct list *list, uint32_t number)
{
	s->queues[number].next = NOBODY;
	if (list->first == NOBODY)
		list->first = number;
	else
		s->queues[list->last].next = number;
	list->last = number;
}

/* Take the first queue out of a list. */
static uint32_t
step_out(struct state *s, struct list *list)
{
	uint32_t number = list->first;

	list->first = s->queues[number].next;
	return number;
}

/* Twice as many slots; the new ones are free. */
static bool
grow(struct state *s)
{
	uint32_t n = s->n_slots ? 2 * s->n_slots : SLOTS;
	struct waiting *slots = realloc(s->slots, n * sizeof(*slots));

	if (slots == NULL)
		return false;
	s->slots = slots;
	for (uint32_t i = s->n_slots; i < n; i++) {
		slots[i].next = s->free_slot;
		s->free_slot = i;
	}
	s->n_slots = n;
	return true;
}

static bool
push(struct state *s, struct queue *queue, const struct queue_packet *packet)
{
	uint32_t number;

	if (s->free_slot == NOBODY && !grow(s))
		return false;
	number = s->free_slot;
	s->free_slot = s->slots[number].next;
	s->slots[number] = (struct waiting){*packet, NOBODY};
	if (queue->packets.first == NOBODY)
		queue->packets.first = number;
	else
		s->slots[queue->packets.last].next = number;
	queue->packets.last = number;
	queue->bytes += packet->bytes;
	return true;
}

static bool
pop(void *from, struct queue_packet *packet)
{
	struct state *s = ((struct source *)from)->state;
	struct queue *queue = ((struct source *)from)->queue;
	uint32_t number = queue->packets.first;

	if (number == NOBODY)
		return false;
	*packet = s->slots[number].packet;
	queue->packets.first = s->slots[number].next;
	queue->bytes -= packet->bytes;
	s->slots[number].next = s->free_slot;
	s->free_slot = number;
	return true;
}

/* Which queue a flow is hashed to; another seed, other flows that share one. */
static uint32_t
queue_of(const struct state *s, uint32_t flow)
{
	uint64_t mixed = s->seed + ((uint64_t)flow << 32);

	return (uint32_t)((prng_next(&mixed) >> 32) * s->config.flows >> 32);
}

static bool
enqueue(void *memory, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = memory;
	uint32_t number = queue_of(s, packet->flow);
	struct queue *queue = &s->queues[number];

	if (!push(s, queue, packet))
		return false;
	if (!queue->is_active) {
		queue->is_active = true;
		queue->deficit = (int64_t)s->config.quantum_bytes;
		line_up(s, &s->fresh, number);
	}
	return true;
}

/* The first queue of a list is empty: one that was fresh waits once more, so that a flow that
 * sends now and then does not go before the others each time.
 */
static void
retire(struct state *s, struct list *list)
{
	uint32_t number = step_out(s, list);

	if (list == &s->fresh && s->old.first != NOBODY)
		line_up(s, &s->old, number);
	else
		s->queues[number].is_active = false;
}

static bool
dequeue(void *memory, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = memory;

	for (;;) {
		struct list *list = s->fresh.first != NOBODY ? &s->fresh : &s->old;
		struct source source = {s, NULL};
		struct queue *queue;

		if (list->first == NOBODY)
			return false;
		source.queue = queue = &s->queues[list->first];
		if (queue->deficit <= 0) {
			queue->deficit += (int64_t)s->config.quantum_bytes;
			line_up(s, &s->old, step_out(s, list));
		} else if (codel_dequeue(&queue->codel, &s->rules, line, pop, &source, packet,
					 now_ns)) {
			queue->deficit -= packet->bytes;
			return true;
		} else {
			retire(s, list);
		}
	}
}

static struct queue *
longest(const struct state *s)
{
	struct queue *found = &s->queues[0];

	for (uint64_t i = 1; i < s->config.flows; i++)
		if (s->queues[i].bytes > found->bytes)
			found = &s->queues[i];
	return found;
}

/* CoDel counts what is dropped here, too: it is to drop more. */
static void
make_room(void *memory, struct aqm_line *line, uint64_t now_ns)
{
	struct state *s = memory;
	struct queue *queue = longest(s);
	struct source source = {s, queue};
	uint64_t enough = queue->bytes / 2, dropped = 0;
	struct queue_packet packet;

	for (uint64_t n = 0; n < s->config.drop_batch && (n == 0 || dropped < enough); n++) {
		if (!pop(&source, &packet))
			return;
		dropped += packet.bytes;
		queue->codel.count++;
		line->drop(line, &packet, DROP_OVERFLOW, now_ns);
	}
}

const struct aqm_ops fq_codel_ops = {
	.abi = AQM_ABI,
	.name = "fq_codel",
	.help = "Fair queueing with CoDel (RFC 8290; Linux's sch_fq_codel)",
	.params = fq_codel_params,
	.config_bytes = sizeof(struct fq_codel_config),
	.state_bytes = sizeof(struct state),
	.check = check,
	.init = init,
	.fini = fini,
	.enqueue = enqueue,
	.dequeue = dequeue,
	.make_room = make_room,
};
