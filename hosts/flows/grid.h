/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grid of instants origin + k * step, k = 0 .. count - 1, taken in order. Pure: the time is
 * an argument.
 */
#ifndef FLOWS_GRID_H
#define FLOWS_GRID_H

#include <stdint.h>

#include "common/clock.h"

struct grid {
	int64_t origin_ns;
	int64_t step_ns;
	uint64_t next; /* the first tick not yet taken */
	uint64_t count;
};

/* How late the ticks were taken, and how many were never taken. */
struct lateness {
	uint64_t count;
	uint64_t missed;
	int64_t sum_ns;
	int64_t max_ns;
};

static inline int64_t
grid_time_ns(const struct grid *grid, uint64_t tick)
{
	return grid->origin_ns + (int64_t)tick * grid->step_ns;
}

/* The instant of the next tick, or NEVER after the last one. */
static inline int64_t
grid_next_ns(const struct grid *grid)
{
	return grid->next >= grid->count ? NEVER : grid_time_ns(grid, grid->next);
}

/*
 * Take the latest tick that is due at now_ns, which is grid_next_ns() or later; the earlier ones
 * not yet taken are counted as missed. Returns the tick.
 */
uint64_t grid_take_latest(struct grid *grid, int64_t now_ns, struct lateness *lateness);

/* Take the next tick, due at now_ns, however late it is. Returns the tick. */
uint64_t grid_take_next(struct grid *grid, int64_t now_ns, struct lateness *lateness);

int64_t lateness_mean_ns(const struct lateness *lateness);

#endif
