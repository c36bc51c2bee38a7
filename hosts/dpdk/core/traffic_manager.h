/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The fixed function of a switch: lanes of shaper and queue side by side, and
 * the order in which their packets leave. Time is an argument.
 */
#ifndef NASHBED_TRAFFIC_MANAGER_H
#define NASHBED_TRAFFIC_MANAGER_H

#include "queues.h"
#include "traffic_lane.h"

struct traffic_manager {
	uint32_t n_lanes;
	struct traffic_lane *lanes;
	struct event_heap departures;
};

/* 0 or -ENOMEM. */
int traffic_manager_init(struct traffic_manager *tm, uint32_t n_lanes);
void traffic_manager_free(struct traffic_manager *tm);

/* As traffic_lane_configure(). */
int traffic_manager_configure(struct traffic_manager *tm, uint32_t lane,
			      const struct lane_config *config);

/* n packets of one lane that arrive as one; their handle, lane, bytes, flow, ecn and queue
 * are given, the rest is filled. True when all are taken, false when all are dropped. All
 * departures up to now_ns must have been taken out before.
 */
bool traffic_manager_enqueue(struct traffic_manager *tm, struct queue_packet *packets, uint32_t n,
			     uint64_t now_ns);

/* The earliest packet over all lanes that has left, or was dropped out of its queue, not after
 * now_ns.
 */
bool traffic_manager_dequeue(struct traffic_manager *tm, struct queue_packet *packet,
			     uint64_t now_ns);

/* Take one packet out of a lane whatever its time; false when empty. */
bool traffic_manager_discard(struct traffic_manager *tm, uint32_t lane,
			     struct queue_packet *packet);

void traffic_manager_stats(const struct traffic_manager *tm, uint32_t lane,
			   struct lane_stats *stats);
/* The lane's configuration as one line for people, as snprintf() does. */
int traffic_manager_describe(const struct traffic_manager *tm, uint32_t lane, char *text,
			     size_t text_bytes);

/* Whether packets of this lane arrive as trains. */
static inline bool
traffic_manager_takes_trains(const struct traffic_manager *tm, uint32_t lane)
{
	return tm->lanes[lane].config.arrive_as == ARRIVE_AS_TRAINS;
}

/* Whether packets of this lane say which of several queues they are for. */
static inline bool
traffic_manager_has_queues(const struct traffic_manager *tm, uint32_t lane)
{
	return tm->lanes[lane].config.discipline.ops == &queues_ops;
}

static inline uint64_t
traffic_manager_next_event(const struct traffic_manager *tm)
{
	return event_heap_next_ns(&tm->departures);
}

#endif
