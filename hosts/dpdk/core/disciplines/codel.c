/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* CoDel over one queue, as sch_codel. */
#include "codel.h"

struct codel_queue {
	struct fifo packets; /* of struct queue_packet */
	struct codel_rules rules;
	struct codel codel;
};

static const char *
check(void *config, const struct aqm_line *line)
{
	return codel_check(config);
}

static int
init(void *state, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct codel_queue *q = state;

	fifo_init(&q->packets, sizeof(struct queue_packet));
	q->rules = codel_rules_of(config);
	return 0;
}

static bool
enqueue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct codel_queue *q = state;

	return aqm_push(&q->packets, packet);
}

static bool
pop(void *queue, struct queue_packet *packet)
{
	return aqm_pop(queue, packet);
}

static bool
dequeue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct codel_queue *q = state;

	return codel_dequeue(&q->codel, &q->rules, line, pop, &q->packets, packet, now_ns);
}

const struct aqm_ops codel_ops = {
	.abi = AQM_ABI,
	.name = "codel",
	.help = "Controlled delay (RFC 8289; Linux's sch_codel)",
	.params = codel_params,
	.config_bytes = sizeof(struct codel_config),
	.state_bytes = sizeof(struct codel_queue),
	.check = check,
	.init = init,
	.fini = aqm_free_queue,
	.enqueue = enqueue,
	.dequeue = dequeue,
};
