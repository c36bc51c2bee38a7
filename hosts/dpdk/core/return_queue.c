/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "return_queue.h"

#include <errno.h>
#include <stdlib.h>

int
return_queues_init(struct return_queues *r, uint32_t n_lanes, uint64_t epoch_ns)
{
	*r = (struct return_queues){.epoch_ns = epoch_ns};
	r->lanes = calloc(n_lanes, sizeof(*r->lanes));
	if (r->lanes == NULL)
		return -ENOMEM;
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		record_log_init(&r->lanes[lane].bins, sizeof(struct return_record));
	if (traffic_manager_init(&r->tm, n_lanes) == 0)
		return 0;
	free(r->lanes);
	r->lanes = NULL;
	return -ENOMEM;
}

void
return_queues_free(struct return_queues *r)
{
	for (uint32_t lane = 0; r->lanes != NULL && lane < r->tm.n_lanes; lane++)
		record_log_clear(&r->lanes[lane].bins);
	free(r->lanes);
	r->lanes = NULL;
	traffic_manager_free(&r->tm);
}

int
return_queues_configure(struct return_queues *r, uint32_t lane, const struct lane_config *config)
{
	int error = traffic_manager_configure(&r->tm, lane, config);

	r->lanes[lane].is_set |= error == 0;
	return error;
}

void
return_queues_clear(struct return_queues *r, uint32_t lane)
{
	struct return_lane *l = &r->lanes[lane];

	l->is_set = false;
	l->bin_end_ns = 0;
	record_log_clear(&l->bins);
	traffic_lane_reset_stats(&r->tm.lanes[lane]);
}

static void
finish_bin(struct return_lane *l)
{
	if (l->bin_end_ns != 0)
		record_log_add(&l->bins, &l->bin);
	l->bin_end_ns = 0;
}

/* The record of the bin that this moment is in; departures and arrivals come in the order of time. */
static struct return_record *
bin_at(const struct return_queues *r, struct return_lane *l, uint64_t now_ns)
{
	uint64_t begin_ns = now_ns - now_ns % RETURN_BIN_NS;

	if (now_ns < l->bin_end_ns)
		return &l->bin;
	finish_bin(l);
	l->bin_end_ns = begin_ns + RETURN_BIN_NS;
	l->bin = (struct return_record){.t_ns = (int64_t)(r->epoch_ns + begin_ns)};
	return &l->bin;
}

bool
return_queues_put(struct return_queues *r, struct queue_packet *packet, uint64_t now_ns)
{
	struct return_record *bin = bin_at(r, &r->lanes[packet->lane], now_ns);
	bool taken = traffic_manager_enqueue(&r->tm, packet, 1, now_ns);
	uint64_t queue_bytes = packet->queue_bytes + (taken ? packet->bytes : 0);

	bin->arrived_packets++;
	bin->dropped_packets += !taken;
	if (queue_bytes > bin->queue_bytes_max)
		bin->queue_bytes_max = queue_bytes;
	return taken;
}

bool
return_queues_get(struct return_queues *r, struct queue_packet *packet, uint64_t now_ns)
{
	struct return_record *bin;
	uint64_t delay_ns;

	if (!traffic_manager_dequeue(&r->tm, packet, now_ns))
		return false;
	bin = bin_at(r, &r->lanes[packet->lane], packet->dequeue_ns);
	delay_ns = packet->dequeue_ns - packet->enqueue_ns;
	bin->departed_packets++;
	bin->departed_bytes += packet->bytes;
	bin->qdelay_sum_ns += delay_ns;
	if (delay_ns > bin->qdelay_max_ns)
		bin->qdelay_max_ns = delay_ns;
	return true;
}

struct record_log
return_queues_take_records(struct return_queues *r, uint32_t lane)
{
	struct return_lane *l = &r->lanes[lane];
	struct record_log taken;

	finish_bin(l);
	taken = l->bins;
	record_log_init(&l->bins, sizeof(struct return_record));
	return taken;
}
