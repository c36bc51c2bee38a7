/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a path does to its packets besides a constant delay and independent loss: delay and loss that
 * change at known times, jitter, reordering, losses in bursts. Time is an argument; each purpose
 * draws from a sequence of its own, and nothing is drawn where it is not used.
 */
#ifndef NASHBED_IMPAIRMENT_H
#define NASHBED_IMPAIRMENT_H

#include <stdbool.h>
#include <stdint.h>

#define PATH_CHANGES_MAX 1000u
#define JITTER_POINTS_MAX 1025u

/* What a path is from a time after t0 on. */
struct path_change {
	uint64_t at_ns;
	uint64_t delay_ns;
	uint32_t loss_ppb;
	uint32_t retry_ppb; /* of jitter by Wi-Fi's model */
};

/* What packets take more: a distribution by its quantiles, of which the first point is the least and
 * the last one the most, linear in between; or Wi-Fi's model (draft-huitema-ccwg-c4-test-02, section
 * 2.3): so many ms as a Poisson process of mean 1 says, less a part of one if there are any, and a
 * share of the packets so many times 7.5 ms more as one of mean 12 says.
 */
struct jitter_settings {
	uint32_t n_points; /* at least 2; 0: none */
	const uint64_t *points_ns;
	bool is_wifi;	    /* without points */
	uint32_t retry_ppb; /* the share until the first change */
	uint64_t every_ns;  /* a draw holds for so long; 0: for one packet */
	uint64_t seed;
};

/* A share of the packets is late by so much, and holds up none that comes after. */
struct reorder_settings {
	uint32_t share_ppb; /* 0: none */
	uint64_t by_ns;
	uint64_t seed;
};

/* Two states, as in netem's `loss gemodel p r 1-h 1-k`: a packet is lost by the state that it finds,
 * which changes with it.
 */
struct gilbert_settings {
	bool is_given;
	uint32_t p_ppb;		/* from good to bad */
	uint32_t r_ppb;		/* from bad to good */
	uint32_t loss_bad_ppb;	/* 1-h */
	uint32_t loss_good_ppb; /* 1-k */
	uint64_t seed;
};

struct impairment_settings {
	const struct path_change *changes; /* by time */
	uint32_t n_changes;
	struct jitter_settings jitter;
	struct reorder_settings reorder;
	struct gilbert_settings gilbert;
};

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

/* Whether all shares are, times ascend, and quantiles do. */
bool impairment_is_valid(const struct impairment_settings *settings);

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
