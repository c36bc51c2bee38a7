/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "line_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_heap.h"
#include "common/nanoseconds.h"

/* Whether anything is ever sent: without it a departure would be searched for without end. */
static bool
has_rate(const struct line_plan *plan)
{
	for (size_t i = 0; i < plan->n_states; i++)
		if (plan->states[i].rate_bps > 0)
			return true;
	return false;
}

static bool
states_are_valid(const struct line_plan *plan)
{
	for (size_t i = 1; i < plan->n_states; i++)
		if (plan->states[i].at_ns <= plan->states[i - 1].at_ns)
			return false;
	if (plan->period_ns == 0 || plan->n_states == 0)
		return true;
	/* A period begins with its first state. */
	return plan->states[0].at_ns == 0 && has_rate(plan) &&
	       plan->states[plan->n_states - 1].at_ns < plan->period_ns;
}

static bool
opportunities_are_valid(const struct line_plan *plan)
{
	size_t n = plan->opportunities.n;

	for (size_t i = 1; i < n; i++)
		if (plan->opportunities.ns[i] < plan->opportunities.ns[i - 1])
			return false;
	if (n == 0)
		return true;
	return plan->opportunity_bits > 0 &&
	       (plan->period_ns == 0 || plan->opportunities.ns[n - 1] <= plan->period_ns) &&
	       plan->opportunities.ns[n - 1] > 0;
}

bool
line_plan_is_valid(const struct line_plan *plan)
{
	if (plan->n_states > 0 && plan->opportunities.n > 0)
		return false;
	return states_are_valid(plan) && opportunities_are_valid(plan);
}

void
line_plan_free(struct line_plan *plan)
{
	free(plan->states);
	free(plan->opportunities.ns);
	*plan = (struct line_plan){0};
}

static void *
copy_of(const void *items, size_t n, size_t item_bytes)
{
	void *copy = calloc(n, item_bytes);

	if (copy != NULL)
		memcpy(copy, items, n * item_bytes);
	return copy;
}

static int
copy_plan(struct line_plan *to, const struct line_plan *from)
{
	*to = *from;
	to->states = NULL;
	to->opportunities.ns = NULL;
	if (from->n_states > 0)
		to->states = copy_of(from->states, from->n_states, sizeof(*from->states));
	else
		to->opportunities.ns = copy_of(from->opportunities.ns, from->opportunities.n,
					       sizeof(*from->opportunities.ns));
	return to->states == NULL && to->opportunities.ns == NULL ? -ENOMEM : 0;
}

int
line_schedule_create(struct line_schedule **schedule, const struct line_plan *plan,
		     uint64_t rate_bps, uint64_t limit)
{
	struct line_schedule *s;

	*schedule = NULL;
	if (line_plan_is_empty(plan))
		return 0;
	s = calloc(1, sizeof(*s));
	if (s == NULL || copy_plan(&s->plan, plan) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->before = (struct line_state){.rate_bps = rate_bps, .limit = limit};
	s->t0_ns = EVENT_NEVER;
	*schedule = s;
	return 0;
}

void
line_schedule_destroy(struct line_schedule *s)
{
	if (s == NULL)
		return;
	line_plan_free(&s->plan);
	free(s);
}

void
line_schedule_begin(struct line_schedule *s, uint64_t t0_ns)
{
	s->t0_ns = t0_ns;
	s->sending = s->arriving = (struct line_cursor){.base_ns = t0_ns};
}

/* The state that holds where a cursor is. */
static const struct line_state *
state_of(const struct line_schedule *s, const struct line_cursor *c)
{
	return c->passed == 0 ? &s->before : &s->plan.states[c->passed - 1];
}

/* Until when it holds. */
static uint64_t
state_ends(const struct line_schedule *s, const struct line_cursor *c)
{
	if (s->t0_ns == EVENT_NEVER)
		return EVENT_NEVER;
	if (c->passed < s->plan.n_states)
		return c->base_ns + s->plan.states[c->passed].at_ns;
	return s->plan.period_ns > 0 ? c->base_ns + s->plan.period_ns : EVENT_NEVER;
}

static void
go_to_state(const struct line_schedule *s, struct line_cursor *c, uint64_t ns)
{
	while (state_ends(s, c) <= ns) {
		if (c->passed == s->plan.n_states) {
			c->base_ns += s->plan.period_ns;
			c->passed = 0;
		}
		c->passed++;
	}
}

/* At a constant rate, from t until end at most. True: `parts` (bits times 10^9) fit in; else they
 * are what is left of them.
 */
static bool
serve_at(uint64_t rate_bps, struct exact_time *t, uint64_t end_ns, uint64_t *parts)
{
	uint64_t sum = *parts + t->part;
	uint64_t room_ns = end_ns - t->ns;

	if (rate_bps == 0)
		return false;
	if (sum / rate_bps < room_ns || (sum / rate_bps == room_ns && sum % rate_bps == 0)) {
		t->ns += sum / rate_bps;
		t->part = sum % rate_bps;
		return true;
	}
	*parts = sum - room_ns * rate_bps;
	return false;
}

static struct exact_time
departure_by_states(struct line_schedule *s, struct exact_time t, uint64_t parts)
{
	go_to_state(s, &s->sending, t.ns);
	for (;;) {
		uint64_t end_ns = state_ends(s, &s->sending);
		uint64_t rate_bps = state_of(s, &s->sending)->rate_bps;

		if (serve_at(rate_bps, &t, end_ns, &parts))
			return t;
		t = (struct exact_time){.ns = end_ns};
		if (end_ns == EVENT_NEVER)
			return t;
		go_to_state(s, &s->sending, end_ns);
	}
}

/* When the next opportunity is; EVENT_NEVER: there is none any more. */
static uint64_t
next_opportunity(const struct line_schedule *s)
{
	const struct line_cursor *c = &s->sending;
	const struct line_plan *plan = &s->plan;

	if (c->passed < plan->opportunities.n)
		return c->base_ns + plan->opportunities.ns[c->passed];
	return plan->period_ns > 0 ? c->base_ns + plan->period_ns + plan->opportunities.ns[0] :
				     EVENT_NEVER;
}

static void
use_opportunity(struct line_schedule *s)
{
	struct line_cursor *c = &s->sending;

	if (c->passed == s->plan.opportunities.n) {
		c->base_ns += s->plan.period_ns;
		c->passed = 0;
	}
	c->passed++;
}

static uint64_t
last_opportunity(const struct line_schedule *s)
{
	return s->t0_ns + s->plan.opportunities.ns[s->plan.opportunities.n - 1];
}

/* Bits leave with opportunities, of which that at t has t.part bits used; 0: it is used up, or there
 * is none. After the last one they leave at the rate of before.
 */
static struct exact_time
departure_by_opportunities(struct line_schedule *s, struct exact_time t, uint64_t bits)
{
	uint64_t all = s->plan.opportunity_bits;
	uint64_t left = t.part > 0 ? all - t.part : 0;

	while (left < bits) {
		uint64_t next_ns = next_opportunity(s);

		bits -= left;
		if (next_ns == EVENT_NEVER) {
			uint64_t parts = bits * SECOND_NS;

			t.part = 0;
			serve_at(s->before.rate_bps, &t, EVENT_NEVER, &parts);
			return t;
		}
		t.ns = next_ns;
		left = all;
		use_opportunity(s);
	}
	t.part = left == bits ? 0 : all - (left - bits);
	return t;
}

struct exact_time
line_schedule_departure(struct line_schedule *s, struct exact_time t, uint64_t bits)
{
	uint64_t parts = bits * SECOND_NS;

	if (t.ns == EVENT_NEVER)
		return t;
	if (s->plan.opportunities.n == 0)
		return departure_by_states(s, t, parts);
	if (s->plan.period_ns == 0 && s->t0_ns != EVENT_NEVER && t.ns > last_opportunity(s)) {
		serve_at(s->before.rate_bps, &t, EVENT_NEVER, &parts);
		return t;
	}
	if (t.ns >= s->t0_ns)
		return departure_by_opportunities(s, t, bits);
	if (serve_at(s->before.rate_bps, &t, s->t0_ns, &parts))
		return t;
	t = (struct exact_time){.ns = s->t0_ns};
	return departure_by_opportunities(s, t, (parts + SECOND_NS - 1) / SECOND_NS);
}

struct exact_time
line_schedule_start(struct line_schedule *s, struct exact_time free, uint64_t now_ns)
{
	if (now_ns < free.ns || (now_ns == free.ns && s->plan.opportunities.n == 0))
		return free;
	if (s->plan.opportunities.n > 0 && now_ns >= s->t0_ns)
		while (next_opportunity(s) <= now_ns)
			use_opportunity(s);
	return (struct exact_time){.ns = now_ns};
}

uint64_t
line_schedule_limit(struct line_schedule *s, uint64_t now_ns)
{
	if (s->plan.n_states == 0)
		return s->before.limit;
	go_to_state(s, &s->arriving, now_ns);
	return state_of(s, &s->arriving)->limit;
}
