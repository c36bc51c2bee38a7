/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Proportional integral controller enhanced (RFC 8033), as Linux's sch_pie without its estimator
 * of the rate: the delay is that of the last packet that began to be sent. Integers of 2^56 for
 * a probability and of 64 ns for a delay.
 *
 * The probability is computed every tupdate from the first arrival on (Linux: from 500 ms after
 * the queue was made); what falls due between two packets is made up for at the next, which is
 * the same: it depends on the delay, of which nothing new is known before. Against the RFC's text:
 * it may exceed 1, as Linux's does.
 */
#include "core/parameters.h"

#define PROB_ONE (UINT64_MAX >> 8)
#define TICK_SHIFT 6
#define SECOND_TICKS UINT64_C(15625000)
#define BURST_TICKS (150 * SECOND_TICKS / 1000)
#define LONG_TICKS (250 * SECOND_TICKS / 1000)
#define MTU_BYTES 1514u
#define NO_TIME UINT64_MAX

struct pie {
	struct fifo packets; /* of struct queue_packet */
	struct pie_config config;
	uint64_t target; /* in ticks, as all that follow */
	uint64_t delay;
	uint64_t old_delay;
	uint64_t burst_left;
	uint64_t dequeued; /* when the last one was; NO_TIME: since it began anew none was */
	uint64_t prob;
	uint64_t accumulated; /* since the last drop: none below 0.85, one by 8.5 */
	uint64_t next_update_ns;
	uint64_t prng;
};

static void
begin_anew(struct pie *p)
{
	p->burst_left = BURST_TICKS;
	p->dequeued = NO_TIME;
	p->accumulated = 0;
}

static int
init(void *state, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct pie *p = state;

	p->config = *(const struct pie_config *)config;
	p->target = p->config.target_ns >> TICK_SHIFT;
	p->next_update_ns = NO_TIME;
	p->prng = seed;
	begin_anew(p);
	fifo_init(&p->packets, sizeof(struct queue_packet));
	return 0;
}

/* How far the weights are scaled down at low probabilities, as a power of two (RFC 8033, 4.2). */
static uint32_t
scale_of(uint64_t prob)
{
	uint32_t shift = 1;

	if (prob >= PROB_ONE / 10)
		return 0;
	for (uint64_t power = 100; power <= 1000000 && prob < PROB_ONE / power; power *= 10)
		shift += 2;
	return shift;
}

/* Modulo 2^64, as a number with a sign. */
static int64_t
change_of(const struct pie *p)
{
	uint32_t shift = scale_of(p->prob);
	uint64_t alpha = (p->config.alpha * (PROB_ONE / SECOND_TICKS) >> 4) >> shift;
	uint64_t beta = (p->config.beta * (PROB_ONE / SECOND_TICKS) >> 4) >> shift;
	uint64_t change = alpha * (p->delay - p->target) + beta * (p->delay - p->old_delay);

	/* By 2 % at most, and by 2 % more where the delay is long. */
	if ((int64_t)change > (int64_t)(PROB_ONE / 50) && p->prob >= PROB_ONE / 10)
		change = PROB_ONE / 100 * 2;
	if (p->delay > LONG_TICKS)
		change += PROB_ONE / 50;
	return (int64_t)change;
}

/* False where it has come to its largest. */
static bool
add_to_prob(struct pie *p, int64_t change)
{
	uint64_t old = p->prob;

	p->prob += (uint64_t)change;
	if (change > 0 && p->prob < old) {
		p->prob = PROB_ONE;
		return false;
	}
	if (change <= 0 && p->prob > old)
		p->prob = 0;
	return true;
}

static void
update(struct pie *p, uint64_t bytes)
{
	bool may_decay = p->delay != 0 || bytes == 0;

	may_decay = add_to_prob(p, change_of(p)) && may_decay;
	if (p->delay == 0 && p->old_delay == 0 && may_decay)
		p->prob -= p->prob / 64;
	if (p->delay < p->target / 2 && p->old_delay < p->target / 2 && p->prob == 0)
		begin_anew(p);
	p->old_delay = p->delay;
}

/* What an idle line leaves as it is. */
static bool
is_at_rest(const struct pie *p, uint64_t bytes)
{
	return p->prob == 0 && p->delay == 0 && p->old_delay == 0 && bytes == 0;
}

/* Every update up to now, in its turn. */
static void
update_until(struct pie *p, uint64_t bytes, uint64_t now_ns)
{
	uint64_t every = p->config.tupdate_ns;

	while (p->next_update_ns <= now_ns) {
		update(p, bytes);
		p->next_update_ns += every;
		if (is_at_rest(p, bytes) && p->next_update_ns <= now_ns)
			p->next_update_ns += (now_ns - p->next_update_ns) / every * every;
	}
}

static bool
is_spared(const struct pie *p, uint64_t bytes)
{
	return p->burst_left > 0 || bytes < 2 * MTU_BYTES ||
	       (p->delay < p->target / 2 && p->prob < PROB_ONE / 5);
}

/* Derandomised (RFC 8033, 5.4): drops are neither close together nor far apart. */
static bool
is_due(struct pie *p, const struct queue_packet *packet)
{
	uint64_t prob = p->prob;

	if (p->config.bytemode && packet->bytes <= MTU_BYTES)
		prob = packet->bytes * (prob / MTU_BYTES);
	p->accumulated = prob == 0 ? 0 : p->accumulated + prob;
	if (p->accumulated < PROB_ONE / 100 * 85)
		return false;
	if (p->accumulated >= PROB_ONE / 2 * 17)
		return true;
	if (prng_next(&p->prng) >> 8 >= prob)
		return false;
	p->accumulated = 0;
	return true;
}

static void
arrive(struct pie *p, const struct aqm_line *line, uint64_t now_ns)
{
	if (p->next_update_ns == NO_TIME)
		p->next_update_ns = now_ns + p->config.tupdate_ns;
	update_until(p, line->bytes, now_ns);
}

static bool
enqueue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct pie *p = state;

	arrive(p, line, now_ns);
	if (!is_spared(p, line->bytes) && is_due(p, packet) &&
	    !(p->config.ecn && p->prob <= PROB_ONE / 10 && aqm_mark(packet))) {
		p->accumulated = 0;
		packet->reason = DROP_EARLY;
		return false;
	}
	return aqm_push(&p->packets, packet);
}

/* After any drop the next one is far. */
static void
refused(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct pie *p = state;

	arrive(p, line, now_ns);
	p->accumulated = 0;
}

static void
note_delay(struct pie *p, const struct queue_packet *packet, uint64_t bytes, uint64_t now_ns)
{
	uint64_t now = now_ns >> TICK_SHIFT;
	uint64_t since = p->dequeued == NO_TIME ? 0 : now - p->dequeued;

	p->delay = bytes == 0 ? 0 : now - (packet->enqueue_ns >> TICK_SHIFT);
	p->dequeued = now;
	p->burst_left -= since < p->burst_left ? since : p->burst_left;
}

static bool
dequeue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct pie *p = state;

	update_until(p, line->bytes, now_ns);
	if (!aqm_pop(&p->packets, packet))
		return false;
	note_delay(p, packet, line->bytes - packet->bytes, now_ns);
	return true;
}

const struct aqm_ops pie_ops = {
	.abi = AQM_ABI,
	.name = "pie",
	.help = "Proportional integral controller enhanced (RFC 8033; Linux's sch_pie)",
	.params = pie_params,
	.config_bytes = sizeof(struct pie_config),
	.state_bytes = sizeof(struct pie),
	.init = init,
	.fini = aqm_free_queue,
	.enqueue = enqueue,
	.dequeue = dequeue,
	.refused = refused,
};
