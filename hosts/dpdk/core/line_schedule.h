/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A line whose rate and limit change at times that are known before the trial begins: given rates,
 * or opportunities to send at given instants, as cellular traces have them. Time is an argument.
 *
 * Departures are exact. What is being sent when the rate changes is finished at the new rate from
 * that moment on; a rate of 0 is an outage, after which it goes on. An opportunity carries so many
 * bits of what waits before its instant, and what is not used is lost (Mahimahi's link queue).
 */
#ifndef NASHBED_LINE_SCHEDULE_H
#define NASHBED_LINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lane_config.h"

static inline bool
line_plan_is_empty(const struct line_plan *plan)
{
	return plan->n_states == 0 && plan->opportunities.n == 0;
}

/* Whether the plan can be carried out: times in order and before the period's end. */
bool line_plan_is_valid(const struct line_plan *plan);

void line_plan_free(struct line_plan *plan);

/* A point in time to a fraction of a nanosecond: ns + part / rate_bps. Of an opportunity that is
 * used in part, `part` is how many bits of it are.
 */
struct exact_time {
	uint64_t ns;
	uint64_t part;
};

/* Where in the plan somebody is who looks at it in the order of time. */
struct line_cursor {
	uint64_t base_ns; /* when this period began */
	size_t passed;	  /* of its states or opportunities */
};

struct line_schedule {
	struct line_plan plan;	  /* of its own */
	struct line_state before; /* t0; and after the last opportunity */
	uint64_t t0_ns;		  /* EVENT_NEVER: it has not begun */
	struct line_cursor sending, arriving;
};

/* A copy of the plan, which waits for its begin. 0 or -ENOMEM; NULL for an empty plan. */
int line_schedule_create(struct line_schedule **schedule, const struct line_plan *plan,
			 uint64_t rate_bps, uint64_t limit);
void line_schedule_destroy(struct line_schedule *s);

void line_schedule_begin(struct line_schedule *s, uint64_t t0_ns);

/* When a packet may begin to be sent that comes at a time, and the line was free from `free` on. */
struct exact_time line_schedule_start(struct line_schedule *s, struct exact_time free,
				      uint64_t now_ns);

/* When the last of so many bits has left whose first leaves at t, which may not be before an
 * earlier answer. EVENT_NEVER: never.
 */
struct exact_time line_schedule_departure(struct line_schedule *s, struct exact_time t,
					  uint64_t bits);

/* The limit at a time, which may not be before that of an earlier question. */
uint64_t line_schedule_limit(struct line_schedule *s, uint64_t now_ns);

#endif
