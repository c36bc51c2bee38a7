/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Many arrivals through one queue discipline, for tests/oracle: what tests/oracle/kernel/run.c does
 * with Linux's. Events at one instant are in the order of the data plane: what leaves, then what
 * arrives.
 */
#include "core/traffic_manager.h"

/* As numpy has them (tests/oracle/linux_qdiscs.py). */
struct arrival {
	uint64_t ns;
	uint32_t bytes;
	uint32_t hash;
	uint32_t truesize; /* Linux's only */
	uint32_t ecn;
};

struct outcome {
	uint64_t decided_ns; /* Linux's only */
	uint64_t departure_ns;
	uint8_t dropped, reason, marked, spare;
	uint32_t order; /* of departures */
};

struct play {
	struct traffic_manager tm;
	struct outcome *outcomes;
	uint32_t sent;
};

static void
note(struct play *play, const struct queue_packet *packet)
{
	struct outcome *mine = &play->outcomes[(uintptr_t)packet->handle];

	mine->departure_ns = packet->dequeue_ns;
	mine->dropped = packet->dropped;
	mine->reason = packet->dropped ? packet->reason : 0;
	mine->marked = packet->mark && packet->ecn != ECN_CE;
	if (!packet->dropped)
		mine->order = play->sent++;
}

static void
until(struct play *play, uint64_t ns)
{
	struct queue_packet packet;

	while (traffic_manager_dequeue(&play->tm, &packet, ns))
		note(play, &packet);
}

static void
arrive(struct play *play, uint32_t number, const struct arrival *arrival)
{
	struct queue_packet packet = {
		.handle = (void *)(uintptr_t)number,
		.bytes = arrival->bytes,
		.flow = arrival->hash,
		.ecn = (uint8_t)arrival->ecn,
	};

	if (!traffic_manager_enqueue(&play->tm, &packet, 1, arrival->ns))
		note(play, &packet);
}

/* 0, or a negative errno. */
int
shim_play(const struct lane_config *config, const struct arrival *arrivals, uint32_t n,
	  struct outcome *outcomes)
{
	struct play play = {.outcomes = outcomes};
	int error = traffic_manager_init(&play.tm, 1);
	uint64_t event_ns;

	if (error == 0)
		error = traffic_manager_configure(&play.tm, 0, config);
	for (uint32_t i = 0; i < n && error == 0; i++) {
		until(&play, arrivals[i].ns);
		arrive(&play, i, &arrivals[i]);
	}
	while ((event_ns = traffic_manager_next_event(&play.tm)) != EVENT_NEVER)
		until(&play, event_ns);
	traffic_manager_free(&play.tm);
	return error;
}
