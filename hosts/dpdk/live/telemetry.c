/* SPDX-License-Identifier: Apache-2.0 */
#include "plane/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_ring.h>

#include "common/nanoseconds.h"
#include "threads.h"

#define CHUNK_POSTCARDS 1024u
#define N_CHUNKS 1024u
/* Between two looks at what is to be written, or at what has been written. */
#define PAUSE_NS MILLISECOND_NS

struct chunk {
	struct lane *lane;
	uint32_t n;
	uint8_t postcards[CHUNK_POSTCARDS][POSTCARD_BYTES];
};

struct lane {
	/* The data thread's, until the stop: */
	bool running;
	struct chunk *chunk; /* being filled */
	uint64_t handed_over;
	uint64_t lost;
	/* The writer's; released with each chunk: */
	_Atomic uint64_t written; /* chunks */
	struct collector *collector;
};

struct telemetry {
	struct lane *lanes;
	uint32_t n_lanes;
	struct chunk *chunks;
	struct rte_ring *empty; /* writer -> data thread */
	struct rte_ring *full;	/* data thread -> writer */
	pthread_t writer;
	bool has_writer;
	atomic_bool stop;
};

static void
write_chunk(struct telemetry *t, struct chunk *chunk)
{
	struct lane *lane = chunk->lane;

	for (uint32_t i = 0; i < chunk->n; i++)
		collector_add(lane->collector, chunk->postcards[i]);
	rte_ring_sp_enqueue(t->empty, chunk);
	atomic_fetch_add_explicit(&lane->written, 1, memory_order_release);
}

static void
rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static void *
writer_main(void *argument)
{
	struct telemetry *t = argument;
	void *chunk;

	for (;;) {
		bool stopping = atomic_load(&t->stop);

		while (rte_ring_sc_dequeue(t->full, &chunk) == 0)
			write_chunk(t, chunk);
		if (stopping)
			return NULL;
		rest();
	}
}

static int
make_rings(struct telemetry *t)
{
	unsigned int flags = RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ;

	t->empty = rte_ring_create("postcards_empty", N_CHUNKS, SOCKET_ID_ANY, flags);
	t->full = rte_ring_create("postcards_full", N_CHUNKS, SOCKET_ID_ANY, flags);
	t->chunks = calloc(N_CHUNKS, sizeof(*t->chunks));
	if (t->empty == NULL || t->full == NULL || t->chunks == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < N_CHUNKS; i++)
		rte_ring_sp_enqueue(t->empty, &t->chunks[i]);
	return 0;
}

struct telemetry *
telemetry_create(uint32_t n_lanes, uint32_t service_core)
{
	struct telemetry *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->n_lanes = n_lanes;
	t->lanes = calloc(n_lanes, sizeof(*t->lanes));
	if (t->lanes == NULL || make_rings(t) < 0)
		goto fail;
	t->has_writer = thread_start(&t->writer, "postcards", service_core, writer_main, t) == 0;
	if (!t->has_writer)
		goto fail;
	return t;
fail:
	telemetry_destroy(t);
	return NULL;
}

void
telemetry_destroy(struct telemetry *t)
{
	if (t->has_writer) {
		atomic_store(&t->stop, true);
		pthread_join(t->writer, NULL);
	}
	for (uint32_t i = 0; t->lanes != NULL && i < t->n_lanes; i++)
		if (t->lanes[i].collector != NULL)
			collector_close(t->lanes[i].collector);
	rte_ring_free(t->empty);
	rte_ring_free(t->full);
	free(t->chunks);
	free(t->lanes);
	free(t);
}

void
telemetry_start(struct telemetry *t, uint32_t lane_id, struct collector *collector)
{
	struct lane *lane = &t->lanes[lane_id];

	lane->collector = collector;
	lane->handed_over = 0;
	atomic_store_explicit(&lane->written, 0, memory_order_relaxed);
	lane->lost = 0;
	lane->running = true;
}

static bool
has_chunk(struct telemetry *t, struct lane *lane)
{
	void *chunk;

	if (lane->chunk != NULL)
		return true;
	if (rte_ring_sc_dequeue(t->empty, &chunk) != 0)
		return false;
	lane->chunk = chunk;
	lane->chunk->lane = lane;
	lane->chunk->n = 0;
	return true;
}

static void
hand_over(struct telemetry *t, struct lane *lane)
{
	/* The ring is never full: it has room for every chunk there is. */
	rte_ring_sp_enqueue(t->full, lane->chunk);
	lane->chunk = NULL;
	lane->handed_over++;
}

void
telemetry_add(struct telemetry *t, uint32_t lane_id, const uint8_t bytes[POSTCARD_BYTES])
{
	struct lane *lane = &t->lanes[lane_id];

	if (!lane->running)
		return;
	if (!has_chunk(t, lane)) {
		lane->lost++;
		return;
	}
	memcpy(lane->chunk->postcards[lane->chunk->n++], bytes, POSTCARD_BYTES);
	if (lane->chunk->n == CHUNK_POSTCARDS)
		hand_over(t, lane);
}

void
telemetry_stop(struct telemetry *t, uint32_t lane_id)
{
	struct lane *lane = &t->lanes[lane_id];

	lane->running = false;
	if (lane->chunk != NULL)
		hand_over(t, lane);
}

bool
telemetry_is_collecting(const struct telemetry *t, uint32_t lane_id)
{
	return t->lanes[lane_id].collector != NULL;
}

struct collector_stats
telemetry_finish(struct telemetry *t, uint32_t lane_id, uint64_t *lost)
{
	struct lane *lane = &t->lanes[lane_id];
	struct collector *collector = lane->collector;

	while (atomic_load_explicit(&lane->written, memory_order_acquire) < lane->handed_over)
		rest();
	lane->collector = NULL;
	*lost = lane->lost;
	return collector_close(collector);
}
