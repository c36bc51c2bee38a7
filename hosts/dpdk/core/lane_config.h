/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a lane of the traffic manager is to do, and what it says of itself. */
#ifndef NASHBED_LANE_CONFIG_H
#define NASHBED_LANE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aqm.h"
#include "line_schedule.h"
#include "queues.h"

enum limit_unit {
	LIMIT_BYTES,
	LIMIT_PACKETS,
	LIMIT_CELLS, /* every packet takes whole cells, as in a switch's buffer */
};

/* What the queue admits or drops as one. */
enum arrivals {
	ARRIVALS_FRAMES, /* each frame by itself, as a switch does */
	ARRIVALS_TRAINS, /* a train (train.h) all or nothing, as a Linux router does */
};

/* Until when a packet counts against the limit; a train, which a Linux router's queue holds as one
 * packet, counts as a whole.
 */
enum limit_counts {
	COUNTS_SYSTEM, /* until its last bit has left */
	COUNTS_QUEUE,  /* until its first bit leaves, as in Linux's bfifo and pfifo */
};

#define POLICER_BURST_MAX UINT64_C(2000000000)

/* A token bucket in front of the queue. */
struct policer_config {
	uint64_t rate_bps; /* 0: there is none */
	uint64_t burst_bytes;
};

struct lane_config {
	uint64_t rate_bps;
	uint64_t limit;
	enum limit_unit unit;
	uint32_t cell_bytes;	 /* LIMIT_CELLS only */
	uint32_t overhead_bytes; /* per packet: serialised, but not in the buffer */
	enum arrivals arrivals;	 /* for whoever calls enqueue: n is 1 with ARRIVALS_FRAMES */
	enum limit_counts counts;
	/* What decides who is dropped, marked and sent next; queues_ops: several queues, each of
	 * which decides.
	 */
	struct aqm_setup aqm;
	struct queues_config queues; /* of queues_ops only */
	struct line_plan plan;	     /* of a line that changes; a lane makes its own copy */
	struct policer_config policer;
};

struct lane_stats {
	uint64_t queue_bytes;
	uint64_t queue_packets;
	uint64_t peak_bytes;
	uint64_t dropped_packets;
};

/* Room for any lane's description, its end included. */
#define DESCRIPTION_BYTES 2048u

#endif
