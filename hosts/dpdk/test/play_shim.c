/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Many arrivals through one queue discipline, for tests/oracle: what tests/oracle/kernel/run.c does
 * with Linux's. Events at one instant are in the order of the data plane: what leaves, then what
 * arrives.
 */
#include "core/discipline.h"
#include "core/event_heap.h"

/* As numpy has them (tests/oracle/linux_qdiscs.py). */
struct arrival {
	uint64_t ns;
	uint32_t bytes;
	uint32_t hash;
	uint32_t truesize; /* Linux's only */
	uint32_t ecn;
};

struct outcome {
	uint64_t decided_ns;
	uint64_t departure_ns;
	uint8_t dropped, reason, marked, spare;
	uint32_t order;
};

struct play {
	const struct discipline_ops *ops;
	struct discipline *discipline;
	struct outcome *outcomes;
	uint32_t sent;
};

static void
note(struct play *play, const struct queue_packet *packet, bool dropped)
{
	struct outcome *mine = &play->outcomes[(uintptr_t)packet->handle];

	mine->departure_ns = packet->dequeue_ns;
	mine->dropped = dropped;
	if (!dropped)
		mine->order = play->sent++;
}

static void
until(struct play *play, uint64_t ns)
{
	struct queue_packet packet;

	while (play->ops->dequeue(play->discipline, &packet, ns))
		note(play, &packet, false);
}

static void
arrive(struct play *play, uint32_t number, const struct arrival *arrival)
{
	struct queue_packet packet = {
		.handle = (void *)(uintptr_t)number,
		.bytes = arrival->bytes,
	};

	if (!play->ops->enqueue(play->discipline, &packet, 1, arrival->ns))
		note(play, &packet, true);
}

/* 0, or what `configure` returned. */
int
shim_play(uint64_t rate_bps, uint64_t limit, uint32_t unit, uint32_t counts,
	  uint32_t overhead_bytes, const struct arrival *arrivals, uint32_t n,
	  struct outcome *outcomes)
{
	struct discipline_config config = {
		.rate_bps = rate_bps,
		.limit = limit,
		.unit = (enum limit_unit)unit,
		.counts = (enum limit_counts)counts,
		.overhead_bytes = overhead_bytes,
	};
	struct play play = {&droptail_ops, droptail_ops.create(), outcomes, 0};
	int error = play.ops->configure(play.discipline, &config);
	uint64_t event_ns;

	for (uint32_t i = 0; i < n && error == 0; i++) {
		until(&play, arrivals[i].ns);
		arrive(&play, i, &arrivals[i]);
	}
	while ((event_ns = play.ops->next_event(play.discipline)) != EVENT_NEVER)
		until(&play, event_ns);
	play.ops->destroy(play.discipline);
	return error;
}
