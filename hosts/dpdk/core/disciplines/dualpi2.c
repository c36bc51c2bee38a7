/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Two coupled queues (RFC 9332), with the parameters of Linux's sch_dualpi2: packets with ECT(1) or
 * CE wait in a queue of their own, which is marked early and often; the others in a queue that a PI
 * controller keeps near its target. What the controller finds marks the one k times as often as the
 * square of it marks or drops the other, so that flows of both kinds get alike (RFC 9332, 2.1).
 *
 * The controller runs every `tupdate`, from time 0 on; between two packets nothing changes that it
 * looks at, so that what is due is made up for when the next one comes or leaves.
 */
#include <errno.h>

#include "core/parameters.h"

#define MTU_BYTES 1514u
#define ALL UINT32_MAX /* probability 1 */
#define PER_CENT 100
#define NS_PER_S 1000000000ull
#define GAIN_UNITS 256.0 /* of 1 Hz, as tc says them to the kernel */
#define GAIN_SHIFT 2	 /* from those units per s to probability per 64 ns, and */
#define DELTA_SHIFT 6	 /* from 64 ns to 1 ns */

struct state {
	struct dualpi2_config config;
	uint32_t alpha, beta; /* probability per 64 ns of delay */
	struct fifo classic, scalable;
	uint64_t backlog_bytes; /* of both */
	uint32_t probability;
	uint64_t last_delay_ns;
	uint64_t next_update_ns;
	int64_t credit; /* above 0: the classic queue is served, where both have packets */
	int64_t first_credit;
	int32_t classic_weight, scalable_weight;
	uint64_t draws;
};

static uint32_t
gain(double hertz)
{
	uint64_t units = (uint64_t)(hertz * GAIN_UNITS + 0.5);

	return (uint32_t)(((units * ALL) >> GAIN_SHIFT) / NS_PER_S);
}

static int
init(void *memory, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct state *s = memory;

	s->config = *(const struct dualpi2_config *)config;
	s->alpha = gain(s->config.alpha);
	s->beta = gain(s->config.beta);
	s->classic_weight = (int32_t)(s->config.classic_protection * PER_CENT + 0.5);
	s->scalable_weight = PER_CENT - s->classic_weight;
	s->first_credit = (int64_t)MTU_BYTES * (s->classic_weight - s->scalable_weight);
	s->credit = s->first_credit;
	s->draws = seed;
	fifo_init(&s->classic, sizeof(struct queue_packet));
	fifo_init(&s->scalable, sizeof(struct queue_packet));
	return 0;
}

static void
fini(void *memory)
{
	struct state *s = memory;

	fifo_free(&s->classic);
	fifo_free(&s->scalable);
}

static uint64_t
delay_of(const struct fifo *queue, uint64_t now_ns)
{
	const struct queue_packet *head = fifo_head(queue);

	return head == NULL ? 0 : now_ns - head->enqueue_ns;
}

/* The controller once: RFC 9332, figure 6, in the kernel's arithmetic. */
static void
update(struct state *s, uint64_t now_ns)
{
	uint64_t classic_ns = delay_of(&s->classic, now_ns);
	uint64_t scalable_ns = delay_of(&s->scalable, now_ns);
	uint64_t delay_ns = classic_ns > scalable_ns ? classic_ns : scalable_ns;
	int64_t delta = ((int64_t)delay_ns - (int64_t)s->config.target_ns) * s->alpha +
			((int64_t)delay_ns - (int64_t)s->last_delay_ns) * s->beta;
	int64_t step = delta > 0 ? delta >> DELTA_SHIFT : -(-delta >> DELTA_SHIFT);
	int64_t probability = s->probability + step;
	int64_t most = s->config.drop_overload ? ALL : ALL / s->config.coupling_factor;

	s->last_delay_ns = delay_ns;
	s->probability = (uint32_t)(probability < 0 ? 0 : probability > most ? most : probability);
}

/* Whether the controller would change nothing, however often it ran. */
static bool
is_at_rest(const struct state *s)
{
	return s->probability == 0 && s->last_delay_ns == 0 && s->classic.count == 0 &&
	       s->scalable.count == 0;
}

static void
catch_up(struct state *s, uint64_t now_ns)
{
	while (s->next_update_ns <= now_ns) {
		if (is_at_rest(s)) {
			s->next_update_ns =
				(now_ns / s->config.tupdate_ns + 1) * s->config.tupdate_ns;
			return;
		}
		update(s, s->next_update_ns);
		s->next_update_ns += s->config.tupdate_ns;
	}
}

static bool
is_scalable(const struct queue_packet *packet)
{
	return packet->ecn == ECN_ECT1 || packet->ecn == ECN_CE;
}

static bool
enqueue(void *memory, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = memory;

	catch_up(s, now_ns);
	if (!aqm_push(is_scalable(packet) ? &s->scalable : &s->classic, packet))
		return false;
	s->backlog_bytes += packet->bytes;
	return true;
}

static bool
roll(struct state *s, uint32_t probability)
{
	return (uint32_t)(prng_next(&s->draws) >> 32) <= probability;
}

/* By the square of the probability. */
static bool
roll_twice(struct state *s)
{
	return roll(s, s->probability) && roll(s, s->probability);
}

/* Whether the controller drops a packet; what it does not, it may have marked. */
static bool
is_dropped(struct state *s, struct queue_packet *packet)
{
	uint64_t coupled = s->probability * s->config.coupling_factor;
	bool overload = coupled > ALL;

	if (s->backlog_bytes < 2 * MTU_BYTES)
		return false;
	if (!is_scalable(packet))
		return roll_twice(s) && (overload || !aqm_mark(packet));
	if (!overload)
		return roll(s, (uint32_t)coupled) && !aqm_mark(packet);
	if (s->config.drop_overload && roll_twice(s))
		return true;
	aqm_mark(packet);
	return false;
}

/* The next packet of either queue, by weighted round robin; how much credit it costs. */
static bool
take(struct state *s, struct queue_packet *packet, int64_t *credit)
{
	bool both = s->classic.count > 0 && s->scalable.count > 0;
	bool scalable = s->scalable.count > 0 && (s->classic.count == 0 || s->credit <= 0);

	if (!aqm_pop(scalable ? &s->scalable : &s->classic, packet)) {
		s->credit = s->first_credit;
		return false;
	}
	s->backlog_bytes -= packet->bytes;
	*credit = scalable ? s->classic_weight : -s->scalable_weight;
	*credit *= both ? (int64_t)packet->bytes : 0;
	return true;
}

static bool
dequeue(void *memory, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct state *s = memory;
	int64_t credit;

	catch_up(s, now_ns);
	while (take(s, packet, &credit)) {
		if (is_dropped(s, packet)) {
			line->drop(line, packet, DROP_EARLY, now_ns);
			continue;
		}
		if (is_scalable(packet) && now_ns - packet->enqueue_ns > s->config.step_thresh_ns)
			aqm_mark(packet);
		s->credit += credit;
		return true;
	}
	return false;
}

const struct aqm_ops dualpi2_ops = {
	.abi = AQM_ABI,
	.name = "dualpi2",
	.help = "Two coupled queues (RFC 9332; Linux's sch_dualpi2)",
	.params = dualpi2_params,
	.config_bytes = sizeof(struct dualpi2_config),
	.state_bytes = sizeof(struct state),
	.init = init,
	.fini = fini,
	.enqueue = enqueue,
	.dequeue = dequeue,
};
