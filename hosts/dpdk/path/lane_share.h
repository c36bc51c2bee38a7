/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The lanes of one packet loop among several: every so-manieth from its own number on. What is of
 * no lane is the first loop's.
 */
#ifndef NASHBED_LANE_SHARE_H
#define NASHBED_LANE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: every lane. */
struct lane_share {
	uint32_t loop;
	uint32_t n_loops;
};

/* The loop that a lane belongs to. */
static inline uint32_t
lane_share_loop_of(uint32_t lane, uint32_t n_loops)
{
	return lane % n_loops;
}

static inline bool
lane_share_has(const struct lane_share *s, uint32_t lane)
{
	return s->n_loops <= 1 || lane_share_loop_of(lane, s->n_loops) == s->loop;
}

#endif
