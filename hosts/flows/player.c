/* SPDX-License-Identifier: Apache-2.0 */
#include "player.h"

#define RESERVOIR_EIGHTHS 3
#define CUSHION_END_TENTHS 9

__extension__ typedef unsigned __int128 wide;

static int64_t
most_at_request_ns(const struct player *player)
{
	return player->video->buffer_ns - player->video->segment_ns;
}

static int64_t
level_at(const struct player *player, int64_t now_ns)
{
	int64_t left_ns = player->level_ns - (now_ns - player->level_at_ns);

	return left_ns > 0 ? left_ns : 0;
}

int64_t
player_next_request_ns(const struct player *player)
{
	return player->level_at_ns + player->level_ns - most_at_request_ns(player);
}

/* The line between reservoir and the cushion's end, strictly inside. */
static uint64_t
mapped_bps(const struct player *player, int64_t level_ns, int64_t reservoir_ns, int64_t end_ns)
{
	const struct application *video = player->video;
	uint64_t lowest = video->ladder[0];
	uint64_t span = video->ladder[video->n_ladder - 1] - lowest;

	return lowest + (uint64_t)((wide)span * (uint64_t)(level_ns - reservoir_ns) /
				   (uint64_t)(end_ns - reservoir_ns));
}

/* The highest rung below a rate, and the lowest above it. */
static uint32_t
below(const struct application *video, uint64_t bps)
{
	uint32_t rung = (uint32_t)video->n_ladder - 1;

	while (rung > 0 && video->ladder[rung] >= bps)
		rung--;
	return rung;
}

static uint32_t
above(const struct application *video, uint64_t bps)
{
	uint32_t rung = 0;

	while (rung < video->n_ladder - 1 && video->ladder[rung] <= bps)
		rung++;
	return rung;
}

static uint32_t
next_rung(const struct player *player, int64_t level_ns)
{
	const struct application *video = player->video;
	int64_t reservoir_ns = most_at_request_ns(player) * RESERVOIR_EIGHTHS / 8;
	int64_t end_ns = most_at_request_ns(player) * CUSHION_END_TENTHS / 10;
	uint32_t top = (uint32_t)video->n_ladder - 1;
	uint32_t up = player->rung < top ? player->rung + 1 : top;
	uint32_t down = player->rung > 0 ? player->rung - 1 : 0;
	uint64_t bps;

	if (level_ns <= reservoir_ns)
		return 0;
	if (level_ns >= end_ns)
		return top;
	bps = mapped_bps(player, level_ns, reservoir_ns, end_ns);
	if (bps >= video->ladder[up])
		return below(video, bps);
	if (player->rung > 0 && bps <= video->ladder[down])
		return above(video, bps);
	return player->rung;
}

uint64_t
player_choose(struct player *player, int64_t now_ns)
{
	player->rung = next_rung(player, level_at(player, now_ns));
	return player->video->ladder[player->rung];
}

int64_t
player_stalled_ns(const struct player *player, int64_t now_ns)
{
	int64_t dry_ns = player->level_at_ns + player->level_ns;

	return player->started && now_ns > dry_ns ? now_ns - dry_ns : 0;
}

int64_t
player_arrived(struct player *player, int64_t now_ns)
{
	int64_t stalled_ns = player_stalled_ns(player, now_ns);

	player->level_ns = level_at(player, now_ns) + player->video->segment_ns;
	player->level_at_ns = now_ns;
	player->started = true;
	return stalled_ns;
}
