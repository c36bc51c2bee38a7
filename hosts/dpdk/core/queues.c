/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Several queues behind one line. Each queue has a discipline of its own; a scheduler says which of
 * them is asked for the next packet, and a policy who may have how much of the memory. A packet that comes is dropped for the first of these that holds:
 *   - its queue's own limit would be exceeded (DROP_QUEUE_LIMIT);
 *   - the memory would be (DROP_LIMIT);
 *   - the threshold that the policy has for its queue now would be (DROP_THRESHOLD);
 *   - the queue's discipline refuses it.
 * A discipline that drops others when its limit is exceeded, as fq_codel, does so here where its
 * queue's own limit or the memory is; a threshold only ever refuses what comes.
 *
 * Deficit round robin (Shreedhar and Varghese 1996) as fq_codel has it: a discipline decides only
 * when it is asked, so that nobody knows how large the next packet is. A queue is therefore served
 * while it has any deficit, and what it sent too much, less than a packet, is missing from its next
 * turn.
 *
 * An empty queue's discipline is asked, too, once it has had packets, so that it sees its queue
 * empty when the line becomes free, as it would if it had the line for itself.
 */
#include "queues.h"

#include <errno.h>
#include <inttypes.h>

#include "disciplines.h"
#include "policies.h"

/* A queue, which its discipline knows by its line. */
struct queue {
	struct aqm_line line;
	const struct aqm_ops *aqm;
	void *discipline;
	struct state *owner;
	uint32_t number;
	uint64_t limit; /* UINT64_MAX: none */
	int64_t quantum;
	int64_t deficit; /* what it may still send in its turn */
	bool in_round, in_turn;
};

struct state {
	struct queues_config config;
	struct memory memory;
	void *policy;	       /* its state, where it has one */
	struct aqm_line *line; /* which all share */
	struct queue queues[QUEUES_MAX];
	struct queue *sender; /* whose packet is being sent; NULL: nobody's */
	uint32_t waiting;     /* a bit for each queue that has packets */
	uint32_t to_tell;     /* and for each whose discipline does not know yet that it is empty */
	uint32_t round[QUEUES_MAX], first, n; /* deficit round robin: who has a turn, in order */
};

static struct queue *
queue_of(struct aqm_line *line)
{
	return (struct queue *)((uint8_t *)line - offsetof(struct queue, line));
}

static void
count(struct queue *q, int64_t bytes)
{
	q->owner->memory.queues[q->number].bytes += (uint64_t)bytes;
	q->owner->memory.used_bytes += (uint64_t)bytes;
}

/* Packets wait in it, or none. */
static void
set_waiting(struct queue *q)
{
	uint32_t bit = UINT32_C(1) << q->number;
	bool waits = q->line.packets > 0;

	q->owner->waiting = waits ? q->owner->waiting | bit : q->owner->waiting & ~bit;
	q->owner->memory.queues[q->number].is_backlogged = waits;
}

/* A packet is no longer in its discipline's care. */
static void
release(struct queue *q, const struct queue_packet *packet)
{
	q->line.bytes -= packet->bytes;
	q->line.packets--;
	set_waiting(q);
}

static void
drop_taken(struct aqm_line *line, struct queue_packet *packet, enum drop_reason reason,
	   uint64_t now_ns)
{
	struct queue *q = queue_of(line);

	release(q, packet);
	count(q, -(int64_t)packet->bytes);
	q->owner->line->drop(q->owner->line, packet, reason, now_ns);
}

uint64_t
queues_seed(uint64_t seed, uint32_t queue)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i <= queue; i++)
		number = prng_next(&seed);
	return number;
}

void
queues_memory(const struct queues_config *config, const struct aqm_line *line,
	      struct memory *memory)
{
	*memory = (struct memory){
		.total_bytes = line->limit_bytes,
		.rate_bps = line->rate_bps,
		.scheduler = config->scheduler,
		.n_queues = (uint32_t)config->n_queues,
	};
	for (uint32_t i = 0; i < config->n_queues; i++) {
		memory->queues[i].limit_bytes = config->queues[i].limit_bytes;
		memory->queues[i].weight = config->queues[i].weight;
	}
}

void
queues_line(const struct queues_config *config, uint32_t queue, const struct aqm_line *line,
	    struct aqm_line *own)
{
	uint64_t limit = config->queues[queue].limit_bytes;

	*own = *line;
	own->bytes = own->packets = 0;
	own->drop = drop_taken;
	if (limit > 0 && limit < line->limit_bytes)
		own->limit_bytes = limit;
}

static const struct memory_ops *
policy_of(const struct queues_config *config)
{
	return config->memory.ops == NULL ? &complete_sharing_ops : config->memory.ops;
}

static const struct aqm_ops *
discipline_of(const struct queue_config *config)
{
	return config->discipline.ops == NULL ? &droptail_ops : config->discipline.ops;
}

static int
init_queue(struct state *s, uint32_t number, const struct aqm_line *line)
{
	const struct queue_config *config = &s->config.queues[number];
	struct queue *q = &s->queues[number];

	queues_line(&s->config, number, line, &q->line);
	q->owner = s;
	q->number = number;
	q->limit = config->limit_bytes > 0 ? config->limit_bytes : UINT64_MAX;
	q->quantum = (int64_t)config->weight * QUEUES_QUANTUM_BYTES;
	q->aqm = discipline_of(config);
	q->discipline = calloc(1, q->aqm->state_bytes);
	if (q->discipline == NULL)
		return -ENOMEM;
	return q->aqm->init(q->discipline, config->discipline.config, &q->line,
			    config->discipline.seed);
}

static int
init(void *state, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct state *s = state;
	const struct memory_ops *policy;
	int error = 0;

	s->config = *(const struct queues_config *)config;
	queues_memory(&s->config, line, &s->memory);
	policy = s->config.memory.ops = policy_of(&s->config);
	for (uint32_t i = 0; i < s->memory.n_queues && error == 0; i++)
		error = init_queue(s, i, line);
	if (error || policy->state_bytes == 0)
		return error;
	s->policy = calloc(1, policy->state_bytes);
	if (s->policy == NULL)
		return -ENOMEM;
	if (policy->init == NULL)
		return 0;
	return policy->init(s->policy, s->config.memory.config, &s->memory, s->config.memory.seed);
}

static void
fini(void *state)
{
	struct state *s = state;

	for (uint32_t i = 0; i < s->memory.n_queues; i++) {
		struct queue *q = &s->queues[i];

		if (q->discipline != NULL && q->aqm->fini != NULL)
			q->aqm->fini(q->discipline);
		free(q->discipline);
	}
	if (s->policy != NULL && s->config.memory.ops->fini != NULL)
		s->config.memory.ops->fini(s->policy);
	free(s->policy);
}

/* What the queue's discipline would drop to make room. */
static uint64_t
yields(const struct queue *q)
{
	return q->aqm->make_room != NULL ? q->line.bytes : 0;
}

/* Why there is no room for a packet; DROP_REASONS: there is. */
static enum drop_reason
obstacle(struct state *s, const struct queue *q, uint32_t bytes, uint64_t now_ns)
{
	const struct memory_queue *own = &s->memory.queues[q->number];
	const struct memory_setup *policy = &s->config.memory;
	uint64_t less = yields(q);

	if (own->bytes - less + bytes > q->limit)
		return DROP_QUEUE_LIMIT;
	if (s->memory.used_bytes - less + bytes > s->memory.total_bytes)
		return DROP_LIMIT;
	if (own->bytes + bytes >
	    policy->ops->threshold(s->policy, policy->config, &s->memory, q->number, now_ns))
		return DROP_THRESHOLD;
	return DROP_REASONS;
}

/* Its discipline is told, and may have another reason. */
static void
refuse(struct queue *q, struct queue_packet *packet, enum drop_reason reason, uint64_t now_ns)
{
	packet->reason = (uint8_t)reason;
	if (q->aqm->refused == NULL)
		return;
	q->aqm->refused(q->discipline, &q->line, packet, now_ns);
	q->owner->to_tell |= UINT32_C(1) << q->number;
}

static void
make_room(struct queue *q, uint64_t now_ns)
{
	const struct memory *memory = &q->owner->memory;
	const struct memory_queue *own = &memory->queues[q->number];

	while (q->line.packets > 0 &&
	       (own->bytes > q->limit || memory->used_bytes > memory->total_bytes))
		q->aqm->make_room(q->discipline, &q->line, now_ns);
}

static void
line_up(struct state *s, uint32_t number)
{
	s->round[(s->first + s->n++) % QUEUES_MAX] = number;
}

static void
step_out(struct state *s)
{
	s->first = (s->first + 1) % QUEUES_MAX;
	s->n--;
}

/* It has a packet, and a turn unless it is yet to have one. */
static void
join_round(struct state *s, struct queue *q)
{
	if (q->in_round)
		return;
	q->in_round = true;
	line_up(s, q->number);
}

static bool
enqueue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = state;
	uint32_t last = s->memory.n_queues - 1;
	struct queue *q = &s->queues[packet->queue < last ? packet->queue : last];
	enum drop_reason reason;

	s->line = line;
	packet->queue = (uint8_t)q->number;
	packet->own_queue_bytes = (uint32_t)s->memory.queues[q->number].bytes;
	reason = obstacle(s, q, packet->bytes, now_ns);
	if (reason != DROP_REASONS) {
		refuse(q, packet, reason, now_ns);
		return false;
	}
	s->to_tell |= UINT32_C(1) << q->number;
	if (!q->aqm->enqueue(q->discipline, &q->line, packet, now_ns))
		return false;
	q->line.bytes += packet->bytes;
	q->line.packets++;
	count(q, packet->bytes);
	set_waiting(q);
	if (s->config.scheduler == SCHEDULER_DRR)
		join_round(s, q);
	if (yields(q) > 0)
		make_room(q, now_ns);
	return true;
}

/* The next packet of a queue; false when it has none, or has dropped all. */
static bool
pop(struct queue *q, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = q->owner;

	if (!q->aqm->dequeue(q->discipline, &q->line, packet, now_ns)) {
		s->to_tell &= ~(UINT32_C(1) << q->number);
		return false;
	}
	release(q, packet);
	s->memory.queues[q->number].sent_bytes += packet->bytes;
	q->line.sending_bytes = packet->bytes;
	s->sender = q;
	if (!q->line.counts_sent)
		count(q, -(int64_t)packet->bytes);
	return true;
}

static bool
serve_round(struct state *s, struct queue_packet *packet, uint64_t now_ns)
{
	while (s->n > 0) {
		struct queue *q = &s->queues[s->round[s->first]];

		if (!q->in_turn)
			q->deficit += q->quantum;
		q->in_turn = q->deficit > 0;
		if (!q->in_turn) {
			step_out(s);
			line_up(s, q->number);
		} else if (q->line.packets > 0 && pop(q, packet, now_ns)) {
			q->deficit -= packet->bytes;
			return true;
		} else {
			step_out(s);
			q->in_round = q->in_turn = false;
			q->deficit = 0;
		}
	}
	return false;
}

/* The first of some queues, by their bits, that has a packet. */
static bool
serve_first(struct state *s, uint32_t queues, struct queue_packet *packet, uint64_t now_ns)
{
	for (; queues != 0; queues &= queues - 1)
		if (pop(&s->queues[__builtin_ctz(queues)], packet, now_ns))
			return true;
	return false;
}

/* What was being sent has left. */
static void
settle(struct state *s)
{
	struct queue *q = s->sender;

	if (q == NULL)
		return;
	if (q->line.counts_sent)
		count(q, -(int64_t)q->line.sending_bytes);
	q->line.sending_bytes = 0;
	s->sender = NULL;
}

static bool
dequeue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = state;

	s->line = line;
	settle(s);
	if (serve_first(s, s->to_tell & ~s->waiting, packet, now_ns))
		return true;
	if (s->config.scheduler == SCHEDULER_DRR)
		return serve_round(s, packet, now_ns);
	return serve_first(s, s->waiting, packet, now_ns);
}

static void
describe_policy(const struct queues_config *config, struct description *line)
{
	const struct memory_ops *policy = policy_of(config);
	const struct static_config *fixed = (const void *)config->memory.config;

	describe_add(line, ", memory %s", policy->name);
	describe_params(line, policy->params, config->memory.config);
	for (uint32_t i = 0; policy == &static_ops && i < config->n_queues; i++)
		describe_add(line, " %" PRIu64, fixed->limits_bytes[i]);
}

void
queues_describe(const struct queues_config *config, struct description *line)
{
	bool is_drr = config->scheduler == SCHEDULER_DRR;

	describe_add(line, ", %s", is_drr ? "drr" : "strict_priority");
	describe_policy(config, line);
	for (uint32_t i = 0; i < config->n_queues; i++) {
		const struct queue_config *q = &config->queues[i];
		const struct aqm_ops *aqm = discipline_of(q);

		describe_add(line, "; queue %" PRIu32 ": ", i);
		describe_name(line, aqm);
		describe_params(line, aqm->params, q->discipline.config);
		if (is_drr)
			describe_add(line, ", weight %" PRIu32, q->weight);
		if (q->limit_bytes > 0)
			describe_add(line, ", limit %" PRIu64 " bytes", q->limit_bytes);
	}
}

static const struct aqm_param no_params[] = {{.name = NULL}};

const struct aqm_ops queues_ops = {
	.abi = AQM_ABI,
	.name = "queues",
	.help = "several queues, served by turns or by priority, out of one memory",
	.params = no_params,
	.config_bytes = sizeof(struct queues_config),
	.state_bytes = sizeof(struct state),
	.keeps_limit = true,
	.init = init,
	.fini = fini,
	.enqueue = enqueue,
	.dequeue = dequeue,
};
