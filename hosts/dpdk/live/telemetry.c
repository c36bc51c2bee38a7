/* SPDX-License-Identifier: Apache-2.0 */
#include "plane/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_stack.h>

#include "common/nanoseconds.h"
#include "core/postcard.h"
#include "live.h"
#include "path/lane_share.h"

#define CHUNK_POSTCARDS 1024u
#define N_CHUNKS 1024u
/* That wait for one lane's writer, at most: a file that takes nothing leaves the others the rest. */
#define LANE_CHUNKS (N_CHUNKS / 4 * 3)
/* Between two looks of a writer at what is to be written. Every lane's writer looks, on the core of
 * the flows; a lane of 1 Gbit/s fills twenty chunks in this time.
 */
#define PAUSE_NS (20 * MILLISECOND_NS)

/* Room for so many postcards of a lane with one queue, and fewer of one with several: they stand one
 * behind the other. A chunk without room for the longest is full.
 */
#define CHUNK_BYTES ((CHUNK_POSTCARDS - 1) * POSTCARD_BYTES + POSTCARD_BYTES_MAX)

struct chunk {
	uint32_t used; /* bytes */
	uint8_t postcards[CHUNK_BYTES];
};

/* The chunks of a loop: writers -> data thread. The one that was emptied last is filled next: a few go
 * round, in caches, and not all 40 MB of them, in pages that nobody has touched yet.
 */
struct chunks {
	struct chunk *all;
	struct rte_stack *empty;
};

/* On cache lines of its own, for the next lane is another loop's. */
struct lane {
	/* The data thread's, until the stop: */
	_Alignas(RTE_CACHE_LINE_SIZE) bool running;
	struct chunks *chunks;
	struct chunk *chunk; /* being filled */
	uint64_t handed_over;
	uint64_t lost;
	atomic_bool stopped;   /* released by the data thread: nothing more is handed over */
	struct rte_ring *full; /* data thread -> writer */
	/* The writer's: */
	_Atomic uint64_t written;     /* chunks; released with each */
	struct collector_stats stats; /* released with `closed` */
	atomic_bool closed;
	/* The control thread's, the writer's between open and finish: */
	struct collector *collector;
	pthread_t writer;
};

struct telemetry {
	struct lane *lanes;
	uint32_t n_lanes;
	uint32_t service_core;
	struct chunks *chunks; /* of each loop */
	uint32_t n_loops;
};

static void
give_chunk(struct chunks *chunks, struct chunk *chunk)
{
	void *object = chunk;

	rte_stack_push(chunks->empty, &object, 1);
}

static void
write_chunk(struct lane *lane, struct chunk *chunk)
{
	for (uint32_t at = 0; at < chunk->used; at += postcard_size(chunk->postcards + at))
		collector_add(lane->collector, chunk->postcards + at);
	give_chunk(lane->chunks, chunk);
	atomic_fetch_add_explicit(&lane->written, 1, memory_order_release);
}

static void
rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* One lane's, from its start until all of it is in its file, and the file is closed. */
static void *
writer_main(void *argument)
{
	struct lane *lane = argument;
	void *chunk;

	for (;;) {
		bool stopped = atomic_load_explicit(&lane->stopped, memory_order_acquire);

		while (rte_ring_sc_dequeue(lane->full, &chunk) == 0)
			write_chunk(lane, chunk);
		if (stopped)
			break;
		rest();
	}
	lane->stats = collector_close(lane->collector);
	atomic_store_explicit(&lane->closed, true, memory_order_release);
	return NULL;
}

static int
make_chunks(struct chunks *chunks, uint32_t loop)
{
	char name[RTE_STACK_NAMESIZE];

	snprintf(name, sizeof(name), "empty_%u", loop);
	/* Without locks: a writer that is preempted between two steps holds up nobody. */
	chunks->empty = rte_stack_create(name, N_CHUNKS, SOCKET_ID_ANY, RTE_STACK_F_LF);
	chunks->all = calloc(N_CHUNKS, sizeof(*chunks->all));
	if (chunks->empty == NULL || chunks->all == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < N_CHUNKS; i++)
		give_chunk(chunks, &chunks->all[i]);
	return 0;
}

static int
make_all_chunks(struct telemetry *t)
{
	int error = 0;

	t->chunks = calloc(t->n_loops, sizeof(*t->chunks));
	if (t->chunks == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; !error && i < t->n_loops; i++)
		error = make_chunks(&t->chunks[i], i);
	return error;
}

static int
make_lanes(struct telemetry *t)
{
	unsigned int flags = RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ;

	t->lanes = rte_calloc(NULL, t->n_lanes, sizeof(*t->lanes), RTE_CACHE_LINE_SIZE);
	if (t->lanes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_lanes; i++) {
		struct lane *lane = &t->lanes[i];
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "postcards_%u", i);
		lane->chunks = &t->chunks[lane_share_loop_of(i, t->n_loops)];
		lane->full = rte_ring_create(name, LANE_CHUNKS, SOCKET_ID_ANY, flags);
		if (lane->full == NULL)
			return -ENOMEM;
	}
	return 0;
}

struct telemetry *
telemetry_create(uint32_t n_lanes, uint32_t n_loops, uint32_t service_core)
{
	struct telemetry *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->n_lanes = n_lanes;
	t->n_loops = n_loops;
	t->service_core = service_core;
	if (make_all_chunks(t) < 0 || make_lanes(t) < 0) {
		telemetry_destroy(t);
		return NULL;
	}
	return t;
}

void
telemetry_destroy(struct telemetry *t)
{
	for (uint32_t i = 0; t->lanes != NULL && i < t->n_lanes; i++) {
		struct lane *lane = &t->lanes[i];

		if (lane->collector != NULL) {
			atomic_store_explicit(&lane->stopped, true, memory_order_release);
			pthread_join(lane->writer, NULL);
		}
		rte_ring_free(lane->full);
	}
	for (uint32_t i = 0; t->chunks != NULL && i < t->n_loops; i++) {
		rte_stack_free(t->chunks[i].empty);
		free(t->chunks[i].all);
	}
	free(t->chunks);
	rte_free(t->lanes);
	free(t);
}

int
telemetry_open(struct telemetry *t, uint32_t lane_id, struct collector *collector)
{
	struct lane *lane = &t->lanes[lane_id];
	int error;

	lane->collector = collector;
	lane->handed_over = 0;
	lane->lost = 0;
	atomic_store_explicit(&lane->written, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->stopped, false, memory_order_relaxed);
	atomic_store_explicit(&lane->closed, false, memory_order_relaxed);
	error = thread_start(&lane->writer, "postcards", t->service_core, writer_main, lane);
	if (error)
		lane->collector = NULL;
	return -error;
}

void
telemetry_start(struct telemetry *t, uint32_t lane_id)
{
	t->lanes[lane_id].running = true;
}

static bool
has_chunk(struct lane *lane)
{
	uint64_t written;
	void *chunk;

	if (lane->chunk != NULL)
		return true;
	written = atomic_load_explicit(&lane->written, memory_order_acquire);
	if (lane->handed_over - written >= LANE_CHUNKS)
		return false;
	if (rte_stack_pop(lane->chunks->empty, &chunk, 1) == 0)
		return false;
	lane->chunk = chunk;
	lane->chunk->used = 0;
	return true;
}

static void
hand_over(struct lane *lane)
{
	/* The ring is never full: it has room for all that a lane may have waiting. */
	rte_ring_sp_enqueue(lane->full, lane->chunk);
	lane->chunk = NULL;
	lane->handed_over++;
}

void
telemetry_add(struct telemetry *t, uint32_t lane_id, const uint8_t *bytes)
{
	struct lane *lane = &t->lanes[lane_id];

	if (!lane->running)
		return;
	if (!has_chunk(lane)) {
		lane->lost++;
		return;
	}
	lane->chunk->used += postcard_copy(lane->chunk->postcards + lane->chunk->used, bytes);
	if (lane->chunk->used + POSTCARD_BYTES_MAX > CHUNK_BYTES)
		hand_over(lane);
}

void
telemetry_stop(struct telemetry *t, uint32_t lane_id)
{
	struct lane *lane = &t->lanes[lane_id];

	lane->running = false;
	if (lane->chunk != NULL)
		hand_over(lane);
	atomic_store_explicit(&lane->stopped, true, memory_order_release);
}

bool
telemetry_is_collecting(const struct telemetry *t, uint32_t lane_id)
{
	return t->lanes[lane_id].collector != NULL;
}

bool
telemetry_is_stopped(const struct telemetry *t, uint32_t lane_id)
{
	return atomic_load_explicit(&t->lanes[lane_id].stopped, memory_order_acquire);
}

bool
telemetry_finish(struct telemetry *t, uint32_t lane_id, struct collector_stats *stats,
		 uint64_t *lost)
{
	struct lane *lane = &t->lanes[lane_id];

	if (!atomic_load_explicit(&lane->closed, memory_order_acquire))
		return false;
	pthread_join(lane->writer, NULL);
	lane->collector = NULL;
	*stats = lane->stats;
	*lost = lane->lost;
	return true;
}
