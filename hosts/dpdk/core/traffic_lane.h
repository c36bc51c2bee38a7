/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One lane's bottleneck: a line, or a token-bucket shaper in its place, the queue before it, which a
 * discipline (aqm.h) decides on, and maybe a policer before that. Time is an argument: nothing here
 * reads a clock.
 *
 * A packet's sojourn time is from its arrival until its last bit has been serialised:
 *   departure = max(arrival, previous departure) + (bytes + overhead) * 8 / rate
 * known before it is polled for, so that a late poll delays the frame but never changes the rate; of
 * a shaper, shaper.h says when.
 * Fractions of a nanosecond are carried.
 */
#ifndef NASHBED_TRAFFIC_LANE_H
#define NASHBED_TRAFFIC_LANE_H

#include "common/event_heap.h"
#include "lane_config.h"
#include "line_schedule.h"
#include "shaper.h"

struct traffic_lane {
	struct aqm_line line; /* which leads back to this, for `drop` */
	void *state;	      /* the discipline's; NULL without a configuration */
	bool is_busy;	      /* `sent` is being sent */
	struct queue_packet sent;
	uint64_t sent_units;	/* what it frees of the limit when it has left */
	struct exact_time free; /* when the line became free, or will */
	uint64_t limit;		/* now, in its unit */
	uint64_t used;		/* of it */
	struct fifo dropped;	/* of struct queue_packet: taken, dropped, not yet told */
	uint64_t peak_bytes;
	uint64_t dropped_packets;
	bool is_constant;		/* a line of one rate: neither a schedule nor a shaper */
	struct line_schedule *schedule; /* NULL: the line does not change */
	struct token_bucket policer;
	struct shaper shaper;
	struct lane_config config;
};

/* It refuses everything until it is configured. */
void traffic_lane_init(struct traffic_lane *lane);
void traffic_lane_free(struct traffic_lane *lane);

/* 0; -EINVAL for a shaper that cannot be; -EBUSY while packets are queued; -ENOMEM. */
int traffic_lane_configure(struct traffic_lane *lane, const struct lane_config *config);

/* n packets that arrive as one: true when all are taken; false when all are dropped. Fills all of
 * the metadata but the time of a departure, which is not known yet.
 */
bool traffic_lane_enqueue(struct traffic_lane *lane, struct queue_packet *packets, uint32_t n,
			  uint64_t now_ns);

/* When the next packet has left, or was dropped out of the queue; EVENT_NEVER: there is none. */
static inline uint64_t
traffic_lane_next_event(const struct traffic_lane *lane)
{
	const struct queue_packet *first = fifo_head(&lane->dropped);

	if (first != NULL)
		return first->dequeue_ns;
	return lane->is_busy ? lane->sent.dequeue_ns : EVENT_NEVER;
}

/* That packet, whatever its time. */
bool traffic_lane_dequeue(struct traffic_lane *lane, struct queue_packet *packet);

/* The same, but it takes no time on the line: with the last one the lane begins anew. */
bool traffic_lane_discard(struct traffic_lane *lane, struct queue_packet *packet);

/* The configuration as one line for people, as snprintf() does. */
int traffic_lane_describe(const struct traffic_lane *lane, char *text, size_t text_bytes);
void traffic_lane_stats(const struct traffic_lane *lane, struct lane_stats *stats);
void traffic_lane_reset_stats(struct traffic_lane *lane);

/* What the configuration schedules begins at t0; without it the lane stays as it was configured. */
static inline void
traffic_lane_begin(struct traffic_lane *lane, uint64_t t0_ns)
{
	if (lane->schedule != NULL)
		line_schedule_begin(lane->schedule, t0_ns);
}

#endif
