/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "traffic_manager.h"

#include <errno.h>
#include <stdlib.h>

int
traffic_manager_init(struct traffic_manager *tm, const struct discipline_ops *ops, uint32_t n_lanes)
{
	*tm = (struct traffic_manager){.ops = ops, .n_lanes = n_lanes};
	tm->lanes = calloc(n_lanes, sizeof(*tm->lanes));
	tm->arrivals = calloc(n_lanes, sizeof(*tm->arrivals));
	if (tm->lanes == NULL || tm->arrivals == NULL ||
	    event_heap_init(&tm->departures, n_lanes) < 0)
		goto fail;
	for (uint32_t i = 0; i < n_lanes; i++) {
		tm->lanes[i] = ops->create();
		if (tm->lanes[i] == NULL)
			goto fail;
	}
	return 0;
fail:
	traffic_manager_free(tm);
	return -ENOMEM;
}

void
traffic_manager_free(struct traffic_manager *tm)
{
	for (uint32_t i = 0; tm->lanes != NULL && i < tm->n_lanes; i++)
		if (tm->lanes[i] != NULL)
			tm->ops->destroy(tm->lanes[i]);
	free(tm->lanes);
	free(tm->arrivals);
	tm->lanes = NULL;
	tm->arrivals = NULL;
	event_heap_free(&tm->departures);
}

int
traffic_manager_configure(struct traffic_manager *tm, uint32_t lane,
			  const struct discipline_config *config)
{
	int error;

	if (lane >= tm->n_lanes)
		return -EINVAL;
	error = tm->ops->configure(tm->lanes[lane], config);
	if (!error)
		tm->arrivals[lane] = config->arrivals;
	return error;
}

static void
reschedule(struct traffic_manager *tm, uint32_t lane)
{
	event_heap_set(&tm->departures, lane, tm->ops->next_event(tm->lanes[lane]));
}

bool
traffic_manager_enqueue(struct traffic_manager *tm, struct queue_packet *packets, uint32_t n,
			uint64_t now_ns)
{
	uint32_t lane = packets[0].lane;
	struct discipline *d = tm->lanes[lane];
	bool was_idle = tm->ops->next_event(d) == EVENT_NEVER;
	bool taken = tm->ops->enqueue(d, packets, n, now_ns);

	if (taken && was_idle)
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
	if (!tm->ops->dequeue(tm->lanes[lane], packet, now_ns))
		return false;
	reschedule(tm, lane);
	return true;
}

bool
traffic_manager_discard(struct traffic_manager *tm, uint32_t lane, struct queue_packet *packet)
{
	bool taken = tm->ops->discard(tm->lanes[lane], packet);

	reschedule(tm, lane);
	return taken;
}

void
traffic_manager_stats(const struct traffic_manager *tm, uint32_t lane,
		      struct discipline_stats *stats)
{
	tm->ops->stats(tm->lanes[lane], stats);
}

void
traffic_manager_reset_stats(struct traffic_manager *tm, uint32_t lane)
{
	tm->ops->reset_stats(tm->lanes[lane]);
}
