/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the machine adds to round trips: frames that leave late, and receivers that answer late.
 *
 * Where the data plane is the bottleneck, a frame's departure is scheduled whenever it really
 * leaves, so what was late on the way out is given back on the way back, with what the receivers'
 * host took to answer: as far as the delay there reaches, senders see exact round trips. Beside a
 * switch nothing is given back, for a late frame may lose its lateness in the switch's queue, and
 * what a receiver took to answer cannot be told from that queue.
 */
#ifndef NASHBED_HOLD_UPS_H
#define NASHBED_HOLD_UPS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "addresses.h"
#include "core/disturbance.h"
#include "core/round_trips.h"
#include "io/wire.h"
#include "lane_share.h"

struct hold_ups {
	struct round_trips round_trips;
	struct disturbance *lanes;
	bool *receivers_wait; /* of each lane */
	uint32_t n_lanes;
	struct lane_share share; /* whose pauses are recorded */
	uint64_t epoch_ns;	 /* switch time 0, on the clock that records are in */
	bool gives_back;
};

/* 0 or -ENOMEM. */
int hold_ups_init(struct hold_ups *h, uint32_t n_lanes, bool gives_back, uint64_t epoch_ns);
void hold_ups_free(struct hold_ups *h);

/* Whether a lane's receivers read at intervals, so that what they take to answer is the scenario's. */
void hold_ups_configure_lane(struct hold_ups *h, uint32_t lane, bool receivers_wait);

/* Forget what was recorded of a lane. */
void hold_ups_clear_lane(struct hold_ups *h, uint32_t lane);

/* A frame has come from the senders; for who runs on a clock (core/round_trips.h). */
void hold_ups_came(struct hold_ups *h, const struct rte_mbuf *mbuf);

/* What to remember of a frame that is about to leave. */
struct frame_note hold_ups_note(const struct hold_ups *h, const struct rte_mbuf *mbuf,
				bool to_senders, uint32_t lane, uint64_t departure_ns);

/* It has left; its lane is one. */
void hold_ups_sent(struct hold_ups *h, const struct frame_note *note, bool to_senders,
		   uint64_t now_ns);

/* By how much the way back of a frame of a lane is to be shorter. */
uint64_t hold_ups_give_back(struct hold_ups *h, const struct rte_mbuf *mbuf, uint32_t lane,
			    uint64_t arrival_ns);

/* The loop did not run. */
void hold_ups_paused(struct hold_ups *h, uint64_t from_ns, uint64_t length_ns);

#endif
