/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A bottleneck of their own on the way back to the senders, for lanes that have one: shaper and
 * drop-tail as in the traffic manager that it is, and what became of its queue over time: a record
 * for each bin of RETURN_BIN_NS in which a packet came or left. Time is an argument.
 */
#ifndef NASHBED_RETURN_QUEUE_H
#define NASHBED_RETURN_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/shared.h"
#include "record_log.h"
#include "traffic_manager.h"

struct return_lane {
	bool is_set;
	struct return_record bin;
	uint64_t bin_end_ns; /* 0: no bin is open */
	struct record_log bins;
};

struct return_queues {
	struct traffic_manager tm;
	struct return_lane *lanes;
	uint64_t epoch_ns; /* switch time 0, on the clock that records are in */
};

/* 0 or -ENOMEM. */
int return_queues_init(struct return_queues *r, uint32_t n_lanes, uint64_t epoch_ns);
void return_queues_free(struct return_queues *r);

/* A lane has one from here on: as traffic_manager_configure(). */
int return_queues_configure(struct return_queues *r, uint32_t lane,
			    const struct lane_config *config);

/* It has none any more; nothing may be in it. Its records are forgotten. */
void return_queues_clear(struct return_queues *r, uint32_t lane);

static inline bool
return_queues_has(const struct return_queues *r, uint32_t lane)
{
	return r->lanes[lane].is_set;
}

/* A packet, as traffic_manager_enqueue() takes it. False: dropped. */
bool return_queues_put(struct return_queues *r, struct queue_packet *packet, uint64_t now_ns);

/* The next packet that has left by now. */
bool return_queues_get(struct return_queues *r, struct queue_packet *packet, uint64_t now_ns);

/* A lane's records so far, which are the caller's from here on. */
struct record_log return_queues_take_records(struct return_queues *r, uint32_t lane);

#endif
