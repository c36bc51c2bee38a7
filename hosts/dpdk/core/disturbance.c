/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "disturbance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 16384u

struct record_chunk {
	struct record_chunk *next;
	size_t used;
	uint8_t bytes[CHUNK_BYTES];
};

static void
log_init(struct record_log *log, size_t record_bytes)
{
	*log = (struct record_log){.record_bytes = record_bytes};
}

static void
log_clear(struct record_log *log)
{
	struct record_chunk *next;

	for (struct record_chunk *chunk = log->first; chunk != NULL; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	log_init(log, log->record_bytes);
}

/* The chunk with room for another record; NULL when memory has run out. */
static struct record_chunk *
chunk_with_room(struct record_log *log)
{
	struct record_chunk *chunk = log->last;

	if (chunk != NULL && chunk->used + log->record_bytes <= CHUNK_BYTES)
		return chunk;
	chunk = malloc(sizeof(*chunk));
	if (chunk == NULL)
		return NULL;
	chunk->next = NULL;
	chunk->used = 0;
	if (log->last != NULL)
		log->last->next = chunk;
	else
		log->first = chunk;
	log->last = chunk;
	return chunk;
}

static void
log_add(struct record_log *log, const void *record)
{
	struct record_chunk *chunk = chunk_with_room(log);

	if (chunk == NULL) {
		log->lost++;
		return;
	}
	memcpy(chunk->bytes + chunk->used, record, log->record_bytes);
	chunk->used += log->record_bytes;
	log->count++;
}

static int
log_write(const struct record_log *log, const char *path)
{
	FILE *file = fopen(path, "wb");
	int error = 0;

	if (file == NULL)
		return -errno;
	for (const struct record_chunk *c = log->first; !error && c != NULL; c = c->next)
		if (fwrite(c->bytes, 1, c->used, file) != c->used)
			error = -errno;
	if (fclose(file) != 0 && !error)
		error = -errno;
	return error;
}

void
disturbance_init(struct disturbance *d, uint64_t epoch_ns)
{
	*d = (struct disturbance){.epoch_ns = epoch_ns};
	log_init(&d->bins, sizeof(struct disturbance_record));
	log_init(&d->pauses, sizeof(struct pause_record));
}

void
disturbance_clear(struct disturbance *d)
{
	log_clear(&d->bins);
	log_clear(&d->pauses);
	d->bin_end_ns = 0;
}

void
disturbance_finish(struct disturbance *d)
{
	if (d->bin_end_ns != 0)
		log_add(&d->bins, &d->bin);
	d->bin_end_ns = 0;
}

/* The record of the bin that this moment is in. An arrival's time may lie before the last bin's
 * end: it still counts there.
 */
static struct disturbance_record *
bin_at(struct disturbance *d, uint64_t now_ns)
{
	uint64_t begin_ns = now_ns - now_ns % DISTURBANCE_BIN_NS;

	if (now_ns < d->bin_end_ns)
		return &d->bin;
	disturbance_finish(d);
	d->bin_end_ns = begin_ns + DISTURBANCE_BIN_NS;
	d->bin = (struct disturbance_record){.t_ns = (int64_t)(d->epoch_ns + begin_ns)};
	return &d->bin;
}

static void
add(uint64_t *sum_ns, uint64_t *max_ns, uint64_t ns)
{
	*sum_ns += ns;
	if (ns > *max_ns)
		*max_ns = ns;
}

void
disturbance_departed(struct disturbance *d, uint64_t now_ns, uint64_t late_ns)
{
	struct disturbance_record *bin = bin_at(d, now_ns);

	bin->departures++;
	add(&bin->late_sum_ns, &bin->late_max_ns, late_ns);
}

void
disturbance_returned(struct disturbance *d, uint64_t now_ns, uint64_t error_ns)
{
	struct disturbance_record *bin = bin_at(d, now_ns);

	bin->returns++;
	add(&bin->error_sum_ns, &bin->error_max_ns, error_ns);
}

void
disturbance_answered(struct disturbance *d, uint64_t now_ns, uint64_t response_ns)
{
	struct disturbance_record *bin = bin_at(d, now_ns);

	bin->responses++;
	add(&bin->response_sum_ns, &bin->response_max_ns, response_ns);
}

void
disturbance_paused(struct disturbance *d, uint64_t from_ns, uint64_t length_ns)
{
	struct pause_record pause = {
		.t_ns = (int64_t)(d->epoch_ns + from_ns),
		.length_ns = length_ns,
	};

	log_add(&d->pauses, &pause);
}

int
disturbance_write(const struct disturbance *d, const char *path, const char *pauses_path)
{
	int error = log_write(&d->bins, path);

	return error ? error : log_write(&d->pauses, pauses_path);
}
