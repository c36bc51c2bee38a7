/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "record_log.h"

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

void
record_log_init(struct record_log *log, size_t record_bytes)
{
	*log = (struct record_log){.record_bytes = record_bytes};
}

void
record_log_clear(struct record_log *log)
{
	struct record_chunk *next;

	for (struct record_chunk *chunk = log->first; chunk != NULL; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	record_log_init(log, log->record_bytes);
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

void
record_log_add(struct record_log *log, const void *record)
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

int
record_log_write(const struct record_log *log, const char *path)
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
