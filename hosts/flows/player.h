/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A video player that chooses its bitrate by its buffer: BBA-0 (Huang, Johari, McKeown, Trunnell,
 * Watson: A Buffer-Based Approach to Rate Adaptation, SIGCOMM 2014, algorithm 1). Pure: the time
 * is an argument.
 *
 * A buffer of B holds at most B less one segment when the player asks for the next one; of that,
 * the reservoir is 3/8 and the cushion ends at 9/10 (their 90 s and 216 s of 240 s). In between, a
 * line maps the buffer to a rate, and the bitrate changes only where that passes the next rung.
 */
#ifndef FLOWS_PLAYER_H
#define FLOWS_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "application.h"

struct player {
	const struct application *video;
	uint32_t rung;
	bool started;	     /* the first segment has arrived, and is played */
	int64_t level_ns;    /* of video in the buffer, at: */
	int64_t level_at_ns; /* CLOCK_MONOTONIC */
};

/* When the buffer has room for the next segment; it may be in the past. */
int64_t player_next_request_ns(const struct player *player);

/* The bitrate of the segment that is asked for now. */
uint64_t player_choose(struct player *player, int64_t now_ns);

/* A segment is there. Returns for how long the picture stood still before; 0 for the first. */
int64_t player_arrived(struct player *player, int64_t now_ns);

/* For how long the picture stands still at a time after the last arrival. */
int64_t player_stalled_ns(const struct player *player, int64_t now_ns);

#endif
