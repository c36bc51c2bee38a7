/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Records of one size, in the order in which they were added, until somebody writes them to a file.
 * Adding never moves what is there, so that its cost does not grow.
 */
#ifndef NASHBED_RECORD_LOG_H
#define NASHBED_RECORD_LOG_H

#include <stddef.h>
#include <stdint.h>

struct record_chunk;

struct record_log {
	size_t record_bytes;
	struct record_chunk *first;
	struct record_chunk *last;
	uint64_t count;
	uint64_t lost; /* records for which there was no memory */
};

void record_log_init(struct record_log *log, size_t record_bytes);

/* Forget all records. */
void record_log_clear(struct record_log *log);

void record_log_add(struct record_log *log, const void *record);

/* All records to a new file, or over an old one. 0 or a negative errno. */
int record_log_write(const struct record_log *log, const char *path);

#endif
