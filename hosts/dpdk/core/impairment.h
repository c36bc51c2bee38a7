/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a path does to its packets besides a constant delay and independent loss: delay and loss that
 * change at known times, jitter, reordering, losses in bursts. Time is an argument; each purpose
 * draws from a sequence of its own, and nothing is drawn where it is not used.
 */
#ifndef NASHBED_IMPAIRMENT_H
#define NASHBED_IMPAIRMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lane_config.h"

struct impairment {
	struct impairment_settings settings; /* its lists are this one's own */
	uint64_t delay_ns;		     /* now */
	uint64_t t0_ns;
	uint64_t next_change_ns; /* EVENT_NEVER: no more, or not begun */
	uint32_t done;		 /* changes that have happened */
	uint64_t jitter_state;
	uint64_t jitter_until_ns;
	uint64_t jitter_ns; /* what was drawn last */
	uint32_t retry_ppb; /* now */
	uint64_t reorder_state;
	uint64_t gilbert_state;
	bool is_bad;
	uint32_t late_fifo; /* of what is reordered; UINT32_MAX: nothing is */
};

/* Whether there is anything to do. */
bool impairment_is_any(const struct impairment_settings *settings);

/* Copies the settings. NULL: out of memory. */
struct impairment *impairment_create(const struct impairment_settings *settings, uint64_t delay_ns);
void impairment_destroy(struct impairment *imp); /* or NULL */

/* The changes' t0 is known from here on. */
void impairment_begin(struct impairment *imp, uint64_t t0_ns);

/* What is due by a time happens; true: delay and loss are the change's now. */
bool impairment_follow(struct impairment *imp, uint64_t now_ns, uint32_t *loss_ppb);

/* Each draws for the next packet. */
bool impairment_loses(struct impairment *imp);
uint64_t impairment_jitter_ns(struct impairment *imp, uint64_t now_ns);
bool impairment_is_late(struct impairment *imp);

#endif
