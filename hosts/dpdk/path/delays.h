/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Frames in the delay line: a frame's addresses choose its path, so that every flow
 * group of every lane has its base RTT. In both roles frames enter here first.
 */
#ifndef NASHBED_DELAYS_H
#define NASHBED_DELAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "addresses.h"
#include "core/delay_line.h"
#include "hold_ups.h"
#include "lane_share.h"

struct delays {
	struct delay_line line;
	struct hold_ups *hold_ups;
	uint32_t n_lanes;
	struct lane_share share; /* whose frames are taken */
	uint64_t no_memory;	 /* frames lost because the delay line could not grow */
	uint64_t discarded;	 /* frames of lanes that were reset */
	uint64_t foreign; /* frames of another loop's lanes: a port has steered them wrongly */
};

/* The hold-ups are somebody else's; NULL: nothing is given back. 0 or -ENOMEM. */
int delays_init(struct delays *d, uint32_t n_lanes, struct hold_ups *hold_ups);
void delays_free(struct delays *d);

/* 0, or delay_line_configure()'s error. */
int delays_configure(struct delays *d, uint32_t lane, uint32_t group,
		     const struct group_delay *delay);

/* What one way of a group does besides, once its delays are configured: delay_line_impair(). */
int delays_impair(struct delays *d, bool from_senders, uint32_t lane, uint32_t group,
		  const struct impairment_settings *settings);

/* Forget a lane's delays; its frames are discarded as they come out. */
void delays_clear_lane(struct delays *d, uint32_t lane);

/* What a lane's paths schedule begins at t0; without it they stay as they were configured. */
void delays_begin(struct delays *d, uint32_t lane, uint64_t t0_ns);

/* Frames off a wire, and when each arrived; they are the delay line's from here on. */
void delays_put(struct delays *d, bool from_senders, struct rte_mbuf **mbufs,
		const uint64_t *arrivals_ns, uint32_t n);

/* What is due by now, in the order of time; at most `max` frames. */
uint32_t delays_take(struct delays *d, struct delayed *out, uint32_t max, uint64_t now_ns);

/* The lane of a path, NO_LANE for frames that are not of the address plan. */
uint32_t delays_lane(const struct delays *d, uint32_t path);

/* Frames in a lane's delay lines now, and those it lost at random as configured. */
void delays_count(const struct delays *d, uint32_t lane, uint64_t *waiting, uint64_t *lost);

static inline uint64_t
delays_next_event(const struct delays *d)
{
	return delay_line_next_event(&d->line);
}

#endif
