/* SPDX-License-Identifier: Apache-2.0 */
#include "common/check.h"
#include "grid.h"

static void
takes_every_tick_that_is_on_time(void)
{
	struct grid grid = {.origin_ns = 1000, .step_ns = 50, .count = 3};
	struct lateness lateness = {0};

	for (uint64_t tick = 0; tick < 3; tick++) {
		int64_t due_ns = grid_next_ns(&grid);

		CHECK(due_ns == 1000 + 50 * (int64_t)tick);
		CHECK(grid_take_latest(&grid, due_ns + 7, &lateness) == tick);
	}
	CHECK(grid_next_ns(&grid) == NEVER);
	CHECK(lateness.count == 3 && lateness.missed == 0);
	CHECK(lateness_mean_ns(&lateness) == 7 && lateness.max_ns == 7);
}

static void
skips_and_counts_missed_ticks(void)
{
	struct grid grid = {.origin_ns = 0, .step_ns = 10, .count = 100};
	struct lateness lateness = {0};

	CHECK(grid_take_latest(&grid, 0, &lateness) == 0);
	CHECK(grid_take_latest(&grid, 49, &lateness) == 4);
	CHECK(lateness.missed == 3 && lateness.max_ns == 9);
	CHECK(grid_next_ns(&grid) == 50);
}

static void
never_goes_past_the_last_tick(void)
{
	struct grid grid = {.origin_ns = 0, .step_ns = 10, .count = 4};
	struct lateness lateness = {0};

	CHECK(grid_take_latest(&grid, 1000, &lateness) == 3);
	CHECK(lateness.missed == 3 && lateness.max_ns == 970);
	CHECK(grid_next_ns(&grid) == NEVER);
}

static void
takes_ticks_one_by_one_however_late(void)
{
	struct grid grid = {.origin_ns = 10, .step_ns = 10, .count = 2};
	struct lateness lateness = {0};

	CHECK(grid_take_next(&grid, 35, &lateness) == 0);
	CHECK(grid_take_next(&grid, 35, &lateness) == 1);
	CHECK(lateness.missed == 0 && lateness.max_ns == 25);
}

static void
an_empty_grid_is_never_due(void)
{
	struct grid grid = {.origin_ns = 10, .step_ns = 10, .count = 0};
	struct lateness lateness = {0};

	CHECK(grid_next_ns(&grid) == NEVER);
	CHECK(lateness_mean_ns(&lateness) == 0);
}

int
main(void)
{
	takes_every_tick_that_is_on_time();
	skips_and_counts_missed_ticks();
	never_goes_past_the_last_tick();
	takes_ticks_one_by_one_however_late();
	an_empty_grid_is_never_due();
	return 0;
}
