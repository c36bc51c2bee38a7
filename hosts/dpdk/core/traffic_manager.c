/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "traffic_manager.h"

#include <errno.h>
#include <stdlib.h>

int
traffic_manager_init(struct traffic_manager *tm, uint32_t n_lanes)
{
	*tm = (struct traffic_manager){.n_lanes = n_lanes};
	tm->lanes = calloc(n_lanes, sizeof(*tm->lanes));
	if (tm->lanes == NULL || event_heap_init(&tm->departures, n_lanes) < 0) {
		traffic_manager_free(tm);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_lanes; i++)
		traffic_lane_init(&tm->lanes[i]);
	return 0;
}

void
traffic_manager_free(struct traffic_manager *tm)
{
	for (uint32_t i = 0; tm->lanes != NULL && i < tm->n_lanes; i++)
		traffic_lane_free(&tm->lanes[i]);
	free(tm->lanes);
	tm->lanes = NULL;
	event_heap_free(&tm->departures);
}

int
traffic_manager_configure(struct traffic_manager *tm, uint32_t lane,
			  const struct lane_config *config)
{
	return traffic_lane_configure(&tm->lanes[lane], config);
}

static void
reschedule(struct traffic_manager *tm, uint32_t lane)
{
	event_heap_set(&tm->departures, lane, traffic_lane_next_event(&tm->lanes[lane]));
}

bool
traffic_manager_enqueue(struct traffic_manager *tm, struct queue_packet *packets, uint32_t n,
			uint64_t now_ns)
{
	uint32_t lane = packets[0].lane;
	bool taken = traffic_lane_enqueue(&tm->lanes[lane], packets, n, now_ns);

	/* What was being sent is still; only what was dropped comes earlier. */
	if (tm->lanes[lane].dropped.count > 0 || !event_heap_has(&tm->departures, lane))
		reschedule(tm, lane);
	return taken;
}

bool
traffic_manager_dequeue(struct traffic_manager *tm, struct queue_packet *packet, uint64_t now_ns)
{
	uint32_t lane;

	if (event_heap_next_ns(&tm->departures) > now_ns)
		return false;
	lane = event_heap_next_source(&tm->departures);
	traffic_lane_dequeue(&tm->lanes[lane], packet);
	reschedule(tm, lane);
	return true;
}

bool
traffic_manager_discard(struct traffic_manager *tm, uint32_t lane, struct queue_packet *packet)
{
	bool taken = traffic_lane_discard(&tm->lanes[lane], packet);

	reschedule(tm, lane);
	return taken;
}

void
traffic_manager_stats(const struct traffic_manager *tm, uint32_t lane, struct lane_stats *stats)
{
	traffic_lane_stats(&tm->lanes[lane], stats);
}

int
traffic_manager_describe(const struct traffic_manager *tm, uint32_t lane, char *text,
			 size_t text_bytes)
{
	return traffic_lane_describe(&tm->lanes[lane], text, text_bytes);
}
