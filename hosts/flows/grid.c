/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

static void
add_lateness(struct lateness *lateness, int64_t late_ns)
{
	lateness->count++;
	lateness->sum_ns += late_ns;
	if (late_ns > lateness->max_ns)
		lateness->max_ns = late_ns;
}

static uint64_t
take(struct grid *grid, uint64_t tick, int64_t now_ns, struct lateness *lateness)
{
	add_lateness(lateness, now_ns - grid_time_ns(grid, tick));
	grid->next = tick + 1;
	return tick;
}

uint64_t
grid_take_latest(struct grid *grid, int64_t now_ns, struct lateness *lateness)
{
	uint64_t tick = (uint64_t)((now_ns - grid->origin_ns) / grid->step_ns);

	if (tick >= grid->count)
		tick = grid->count - 1;
	lateness->missed += tick - grid->next;
	return take(grid, tick, now_ns, lateness);
}

uint64_t
grid_take_next(struct grid *grid, int64_t now_ns, struct lateness *lateness)
{
	return take(grid, grid->next, now_ns, lateness);
}

int64_t
lateness_mean_ns(const struct lateness *lateness)
{
	return lateness->count == 0 ? 0 : lateness->sum_ns / (int64_t)lateness->count;
}
