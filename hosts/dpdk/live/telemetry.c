/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_ring.h>

#include "threads.h"

#define CHUNK_POSTCARDS 1024u
#define N_CHUNKS 1024u
#define WRITER_PAUSE_NS 1000000

struct chunk {
	struct lane *lane;
	uint32_t n;
	bool last;
	uint8_t postcards[CHUNK_POSTCARDS][POSTCARD_BYTES];
};

struct lane {
	struct chunk *chunk; /* being filled: the data thread's */
	uint64_t lost;	     /* the data thread's until the stop */
	bool running;
	struct collector *collector;
	sem_t finished;
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
write_chunk(struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n; i++)
		collector_add(chunk->lane->collector, chunk->postcards[i]);
	if (chunk->last)
		sem_post(&chunk->lane->finished);
}

static void *
writer_main(void *argument)
{
	struct telemetry *t = argument;
	struct timespec pause = {.tv_nsec = WRITER_PAUSE_NS};
	void *chunk;

	for (;;) {
		bool stopping = atomic_load(&t->stop);

		while (rte_ring_sc_dequeue(t->full, &chunk) == 0) {
			write_chunk(chunk);
			rte_ring_sp_enqueue(t->empty, chunk);
		}
		if (stopping)
			return NULL;
		nanosleep(&pause, NULL);
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
	for (uint32_t i = 0; i < n_lanes; i++)
		sem_init(&t->lanes[i].finished, 0, 0);
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
	lane->chunk->last = false;
	return true;
}

static void
pass_on(struct telemetry *t, struct lane *lane)
{
	/* Never full: it has room for every chunk there is. */
	rte_ring_sp_enqueue(t->full, lane->chunk);
	lane->chunk = NULL;
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
		pass_on(t, lane);
}

void
telemetry_stop(struct telemetry *t, uint32_t lane_id)
{
	struct lane *lane = &t->lanes[lane_id];

	if (!lane->running)
		return;
	lane->running = false;
	/* The end must not get lost: wait for the writer to free a chunk. */
	while (!has_chunk(t, lane))
		;
	lane->chunk->last = true;
	pass_on(t, lane);
}

int
telemetry_finish(struct telemetry *t, uint32_t lane_id, struct collector_stats *stats,
		 uint64_t *lost)
{
	struct lane *lane = &t->lanes[lane_id];

	if (lane->collector == NULL)
		return -ENOENT;
	while (sem_wait(&lane->finished) != 0)
		;
	*stats = collector_close(lane->collector);
	lane->collector = NULL;
	*lost = lane->lost;
	return 0;
}

int
telemetry_is_running(const struct telemetry *t, uint32_t lane_id)
{
	return t->lanes[lane_id].collector != NULL;
}
