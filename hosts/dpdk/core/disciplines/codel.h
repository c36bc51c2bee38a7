/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Controlled delay (RFC 8289) over any queue, as sch_codel and sch_fq_codel share it. The
 * arithmetic is Linux's, so that decisions are, too: time in units of 1024 ns that wrap at 32
 * bits, and the reciprocal root of the control law in 16 bits, by one step of Newton's method for
 * each new count. Where it differs from the RFC's text: a queue that begins to drop again soon
 * after (16 intervals) goes on at the rate of count - lastcount.
 */
#ifndef NASHBED_CODEL_H
#define NASHBED_CODEL_H

#include "core/parameters.h"

#define CODEL_TIME_SHIFT 10
#define CODEL_ROOT_SHIFT 16	     /* from 16 to 32 bits */
#define CODEL_MTU_BYTES 1514u	     /* with no more than that behind it nothing is dropped */
#define CODEL_NO_THRESHOLD INT32_MAX /* in units of time: longer than any wait */
#define CODEL_SOON 16u		     /* intervals */

/* What is written, in units of time. */
struct codel_rules {
	uint32_t target;
	uint32_t interval;
	uint32_t ce_threshold;
	bool ecn;
};

/* Of one queue. */
struct codel {
	uint32_t count;	    /* packets dropped since it began to drop */
	uint32_t lastcount; /* with what it began */
	bool dropping;
	uint16_t root; /* 1 / sqrt(count), of 2^16 */
	uint32_t first_above;
	uint32_t drop_next;
	uint32_t delay; /* of the packet in hand */
};

/* Take the first packet of a queue; false when it is empty. */
typedef bool (*codel_pop)(void *queue, struct queue_packet *packet);

static inline uint32_t
codel_time(uint64_t ns)
{
	return (uint32_t)(ns >> CODEL_TIME_SHIFT);
}

static inline bool
codel_is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static inline const char *
codel_check(const struct codel_config *config)
{
	return config->target_ns < config->interval_ns ? NULL : "target is not below interval";
}

static inline struct codel_rules
codel_rules_of(const struct codel_config *config)
{
	return (struct codel_rules){
		.target = codel_time(config->target_ns),
		.interval = codel_time(config->interval_ns),
		.ce_threshold = config->ce_threshold_ns > 0 ? codel_time(config->ce_threshold_ns) :
							      CODEL_NO_THRESHOLD,
		.ecn = config->ecn,
	};
}

static inline void
codel_newton_step(struct codel *c)
{
	uint32_t root = (uint32_t)c->root << CODEL_ROOT_SHIFT;
	uint32_t square = (uint32_t)((uint64_t)root * root >> 32);
	uint64_t value = (UINT64_C(3) << 32) - (uint64_t)c->count * square;

	value = (value >> 2) * root >> 31;
	c->root = (uint16_t)(value >> CODEL_ROOT_SHIFT);
}

/* interval / sqrt(count) later. */
static inline uint32_t
codel_control_law(const struct codel *c, const struct codel_rules *rules, uint32_t t)
{
	uint32_t root = (uint32_t)c->root << CODEL_ROOT_SHIFT;
	uint32_t wait = (uint32_t)((uint64_t)rules->interval * root >> 32);

	return t + (wait > 0 ? wait : 1);
}

/* Whether the packet in hand may be dropped: the delay has been above the target for an interval. */
static inline bool
codel_is_above(struct codel *c, const struct codel_rules *rules, const struct aqm_line *line,
	       const struct queue_packet *packet, uint32_t now)
{
	c->delay = now - codel_time(packet->enqueue_ns);
	if (codel_is_after(rules->target, c->delay) ||
	    line->bytes - packet->bytes <= CODEL_MTU_BYTES) {
		c->first_above = 0;
		return false;
	}
	if (c->first_above != 0)
		return codel_is_after(now, c->first_above);
	c->first_above = now + rules->interval;
	return false;
}

/* The next packet, when the one in hand has been dropped. */
static inline bool
codel_replace(struct codel *c, const struct codel_rules *rules, struct aqm_line *line,
	      codel_pop pop, void *queue, struct queue_packet *packet, uint64_t now_ns, bool *above)
{
	line->drop(line, packet, DROP_EARLY, now_ns);
	if (pop(queue, packet)) {
		*above = codel_is_above(c, rules, line, packet, codel_time(now_ns));
		return true;
	}
	c->first_above = 0;
	*above = false;
	return false;
}

/* It drops, and the next one may be due, or more where they are due by now. */
static inline bool
codel_go_on(struct codel *c, const struct codel_rules *rules, struct aqm_line *line, codel_pop pop,
	    void *queue, struct queue_packet *packet, uint64_t now_ns)
{
	bool has = true;

	while (c->dropping && !codel_is_after(c->drop_next, codel_time(now_ns))) {
		c->count++;
		codel_newton_step(c);
		if (rules->ecn && aqm_mark(packet)) {
			c->drop_next = codel_control_law(c, rules, c->drop_next);
			return true;
		}
		has = codel_replace(c, rules, line, pop, queue, packet, now_ns, &c->dropping);
		if (c->dropping)
			c->drop_next = codel_control_law(c, rules, c->drop_next);
	}
	return has;
}

/* Where it dropped until lately, that rate is a good one to begin with. */
static inline void
codel_begin_count(struct codel *c, const struct codel_rules *rules, uint32_t now)
{
	uint32_t delta = c->count - c->lastcount;

	/* Without the first condition what make_room() counted would be "lately" at time 0. */
	if (c->lastcount > 0 && delta > 1 &&
	    codel_is_after(CODEL_SOON * rules->interval, now - c->drop_next)) {
		c->count = delta;
		codel_newton_step(c);
	} else {
		c->count = 1;
		c->root = UINT16_MAX;
	}
	c->lastcount = c->count;
	c->drop_next = codel_control_law(c, rules, now);
}

static inline bool
codel_begin(struct codel *c, const struct codel_rules *rules, struct aqm_line *line, codel_pop pop,
	    void *queue, struct queue_packet *packet, uint64_t now_ns)
{
	bool has = true, above;

	if (!rules->ecn || !aqm_mark(packet))
		has = codel_replace(c, rules, line, pop, queue, packet, now_ns, &above);
	c->dropping = true;
	codel_begin_count(c, rules, codel_time(now_ns));
	return has;
}

/* The next packet of a queue; false when it is empty. */
static inline bool
codel_dequeue(struct codel *c, const struct codel_rules *rules, struct aqm_line *line,
	      codel_pop pop, void *queue, struct queue_packet *packet, uint64_t now_ns)
{
	bool has = pop(queue, packet);

	if (!has) {
		c->first_above = 0;
		c->dropping = false;
		return false;
	}
	if (!codel_is_above(c, rules, line, packet, codel_time(now_ns)))
		c->dropping = false;
	else if (c->dropping)
		has = codel_go_on(c, rules, line, pop, queue, packet, now_ns);
	else
		has = codel_begin(c, rules, line, pop, queue, packet, now_ns);
	if (has && codel_is_after(c->delay, rules->ce_threshold))
		aqm_mark(packet);
	return has;
}

#endif
