/* SPDX-License-Identifier: Apache-2.0 */
#include "common/check.h"
#include "common/clock.h"
#include "player.h"

#define S SECOND_NS

/* At most 16 s when it asks: the reservoir is 6 s, the cushion ends at 14.4 s. */
static const struct application video = {
	.kind = KIND_VIDEO,
	.ladder = {1000000, 2500000, 5000000, 8000000},
	.n_ladder = 4,
	.segment_ns = 4 * S,
	.buffer_ns = 20 * S,
};

static struct player
with(uint32_t rung, int64_t level_ns)
{
	return (struct player){
		.video = &video,
		.rung = rung,
		.started = true,
		.level_ns = level_ns,
	};
}

static uint64_t
chosen(uint32_t rung, int64_t level_ns)
{
	struct player player = with(rung, level_ns);

	return player_choose(&player, 0);
}

static void
the_lowest_in_the_reservoir_and_the_highest_above_the_cushion(void)
{
	for (uint32_t rung = 0; rung < 4; rung++) {
		CHECK(chosen(rung, 6 * S) == 1000000);
		CHECK(chosen(rung, 144 * S / 10) == 8000000);
	}
}

/* 1 + 7 x (level - 6) / 8.4 Mbit/s: 5.17 at 11 s, 7.67 at 14 s, 2.5 at 7.8 s. */
static void
changes_only_where_the_line_passes_the_next_rung(void)
{
	CHECK(chosen(0, 11 * S) == 5000000);
	CHECK(chosen(1, 11 * S) == 5000000);
	CHECK(chosen(2, 11 * S) == 5000000);
	CHECK(chosen(3, 11 * S) == 8000000); /* 5.17 is still above its lower rung */
	CHECK(chosen(2, 14 * S) == 5000000);
	CHECK(chosen(3, 105 * S / 10) == 5000000);
	CHECK(chosen(0, 77 * S / 10) == 1000000);
	CHECK(chosen(2, 77 * S / 10) == 2500000); /* 2.42 */
	CHECK(chosen(3, 77 * S / 10) == 2500000);
	CHECK(chosen(1, 61 * S / 10) == 2500000); /* the lowest in the reservoir only */
}

static void
asks_when_there_is_room(void)
{
	struct player player = with(0, 19 * S);

	player.level_at_ns = 100 * S;
	CHECK(player_next_request_ns(&player) == 103 * S);
	player.level_ns = 16 * S;
	CHECK(player_next_request_ns(&player) == 100 * S);
	player.level_ns = 0;
	CHECK(player_next_request_ns(&player) == 84 * S);
}

static void
stands_still_when_the_buffer_is_empty(void)
{
	struct player player = {.video = &video, .level_at_ns = 10 * S};

	CHECK(player_stalled_ns(&player, 13 * S) == 0); /* it has not begun */
	CHECK(player_arrived(&player, 13 * S) == 0 && player.level_ns == 4 * S);
	CHECK(player_stalled_ns(&player, 17 * S) == 0);
	CHECK(player_arrived(&player, 18 * S) == S && player.level_ns == 4 * S);
	CHECK(player_arrived(&player, 19 * S) == 0 && player.level_ns == 7 * S);
	CHECK(player_stalled_ns(&player, 30 * S) == 4 * S);
}

int
main(void)
{
	the_lowest_in_the_reservoir_and_the_highest_above_the_cushion();
	changes_only_where_the_line_passes_the_next_rung();
	asks_when_there_is_room();
	stands_still_when_the_buffer_is_empty();
	return 0;
}
