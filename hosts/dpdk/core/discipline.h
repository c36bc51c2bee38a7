/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A queue discipline with its shaper: one lane's bottleneck. Time is an
 * argument: nothing here reads a clock.
 *
 * A packet's sojourn time is from its arrival until its last bit has been serialised:
 *   departure = max(arrival, previous departure) + (bytes + overhead) * 8 / rate
 * known before it is polled for, so that a late poll delays the frame but never
 * changes the rate. Fractions of a nanosecond are carried.
 */
#ifndef NASHBED_DISCIPLINE_H
#define NASHBED_DISCIPLINE_H

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

struct discipline_config {
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
	struct line_plan plan;	     /* of a line that changes; a discipline makes its own copy */
	struct policer_config policer;
};

struct discipline_stats {
	uint64_t queue_bytes;
	uint64_t queue_packets;
	uint64_t peak_bytes;
	uint64_t dropped_packets;
};

/* Room for any discipline's description, its end. */
#define DESCRIPTION_BYTES 2048u

struct discipline;

struct discipline_ops {
	const char *name;
	bool drops_taken; /* at an enqueue, too: the next event may come earlier by it */
	struct discipline *(*create)(void);
	void (*destroy)(struct discipline *d);
	/* 0; -EINVAL for a value out of range; -EBUSY while packets are queued. */
	int (*configure)(struct discipline *d, const struct discipline_config *config);
	/* n packets that arrive as one: true when all are taken; false when all are
	 * dropped. Fills all of the metadata but the time of a departure that is not
	 * known yet.
	 */
	bool (*enqueue)(struct discipline *d, struct queue_packet *packets, uint32_t n,
			uint64_t now_ns);
	/* The next packet that has left, or was dropped out of the queue, not after now. */
	bool (*dequeue)(struct discipline *d, struct queue_packet *packet, uint64_t now_ns);
	/* When there is one, or EVENT_NEVER. */
	uint64_t (*next_event)(const struct discipline *d);
	/* Take out the first packet whatever its time; false when empty. With the
	 * last one the line is free.
	 */
	bool (*discard)(struct discipline *d, struct queue_packet *packet);
	/* The configuration as one line for people. */
	int (*describe)(const struct discipline *d, char *text, size_t text_bytes);
	void (*stats)(const struct discipline *d, struct discipline_stats *stats);
	void (*reset_stats)(struct discipline *d);
	/* Its line's schedule begins at t0. NULL: it has none. */
	void (*begin)(struct discipline *d, uint64_t t0_ns);
};

extern const struct discipline_ops droptail_ops;
extern const struct discipline_ops droptail_scheduled_ops; /* the same behind a line that changes */
extern const struct discipline_ops policed_ops;		   /* any of the others behind a policer */
extern const struct discipline_ops served_ops;		   /* of any struct aqm_ops */

/* The one behind a policer. */
static inline const struct discipline_ops *
discipline_ops_of_queue(const struct discipline_config *config)
{
	if (config->aqm.ops != NULL)
		return &served_ops;
	return line_plan_is_empty(&config->plan) ? &droptail_ops : &droptail_scheduled_ops;
}

static inline const struct discipline_ops *
discipline_ops_of(const struct discipline_config *config)
{
	return config->policer.rate_bps > 0 ? &policed_ops : discipline_ops_of_queue(config);
}

#endif
