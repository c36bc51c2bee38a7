/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "traffic_manager.h"

#include <errno.h>
#include <stdlib.h>

int
traffic_manager_init(struct traffic_manager *tm, uint32_t n_lanes)
{
	*tm = (struct traffic_manager){.n_lanes = n_lanes};
	tm->lanes = calloc(n_lanes, sizeof(*tm->lanes));
	if (tm->lanes == NULL || event_heap_init(&tm->departures, n_lanes) < 0)
		goto fail;
	for (uint32_t i = 0; i < n_lanes; i++) {
		tm->lanes[i].ops = &droptail_ops;
		tm->lanes[i].discipline = droptail_ops.create();
		if (tm->lanes[i].discipline == NULL)
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
		if (tm->lanes[i].discipline != NULL)
			tm->lanes[i].ops->destroy(tm->lanes[i].discipline);
	free(tm->lanes);
	tm->lanes = NULL;
	event_heap_free(&tm->departures);
}

/* Another kind of discipline in an empty lane. */
static int
replace(struct traffic_lane *lane, const struct discipline_ops *ops,
	const struct discipline_config *config)
{
	struct discipline *d;
	int error;

	if (lane->ops->next_event(lane->discipline) != EVENT_NEVER)
		return -EBUSY;
	d = ops->create();
	if (d == NULL)
		return -ENOMEM;
	error = ops->configure(d, config);
	if (error) {
		ops->destroy(d);
		return error;
	}
	lane->ops->destroy(lane->discipline);
	lane->discipline = d;
	lane->ops = ops;
	return 0;
}

int
traffic_manager_configure(struct traffic_manager *tm, uint32_t lane,
			  const struct discipline_config *config)
{
	const struct discipline_ops *ops = discipline_ops_of(config);
	struct traffic_lane *l = &tm->lanes[lane];
	int error;

	if (lane >= tm->n_lanes)
		return -EINVAL;
	error = ops == l->ops ? ops->configure(l->discipline, config) : replace(l, ops, config);
	if (error)
		return error;
	l->arrivals = config->arrivals;
	l->has_queues = config->queues.n > 0;
	return 0;
}

static void
reschedule(struct traffic_manager *tm, uint32_t lane)
{
	const struct traffic_lane *l = &tm->lanes[lane];

	event_heap_set(&tm->departures, lane, l->ops->next_event(l->discipline));
}

bool
traffic_manager_enqueue(struct traffic_manager *tm, struct queue_packet *packets, uint32_t n,
			uint64_t now_ns)
{
	uint32_t lane = packets[0].lane;
	struct traffic_lane *l = &tm->lanes[lane];
	bool was_idle = !event_heap_has(&tm->departures, lane);
	bool taken = l->ops->enqueue(l->discipline, packets, n, now_ns);

	if (taken && (was_idle || l->ops->drops_taken))
		reschedule(tm, lane);
	return taken;
}

bool
traffic_manager_dequeue(struct traffic_manager *tm, struct queue_packet *packet, uint64_t now_ns)
{
	struct traffic_lane *l;
	uint32_t lane;

	if (event_heap_next_ns(&tm->departures) > now_ns)
		return false;
	lane = event_heap_next_source(&tm->departures);
	l = &tm->lanes[lane];
	if (!l->ops->dequeue(l->discipline, packet, now_ns))
		return false;
	reschedule(tm, lane);
	return true;
}

bool
traffic_manager_discard(struct traffic_manager *tm, uint32_t lane, struct queue_packet *packet)
{
	struct traffic_lane *l = &tm->lanes[lane];
	bool taken = l->ops->discard(l->discipline, packet);

	reschedule(tm, lane);
	return taken;
}

void
traffic_manager_stats(const struct traffic_manager *tm, uint32_t lane,
		      struct discipline_stats *stats)
{
	tm->lanes[lane].ops->stats(tm->lanes[lane].discipline, stats);
}

int
traffic_manager_describe(const struct traffic_manager *tm, uint32_t lane, char *text,
			 size_t text_bytes)
{
	return tm->lanes[lane].ops->describe(tm->lanes[lane].discipline, text, text_bytes);
}

void
traffic_manager_reset_stats(struct traffic_manager *tm, uint32_t lane)
{
	tm->lanes[lane].ops->reset_stats(tm->lanes[lane].discipline);
}

void
traffic_manager_begin(struct traffic_manager *tm, uint32_t lane, uint64_t t0_ns)
{
	struct traffic_lane *l = &tm->lanes[lane];

	if (l->ops->begin != NULL)
		l->ops->begin(l->discipline, t0_ns);
}
