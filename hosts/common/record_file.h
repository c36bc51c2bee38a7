/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A file of fixed-size records, written through one large buffer: no system call per record. */
#ifndef COMMON_RECORD_FILE_H
#define COMMON_RECORD_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "failure.h"

struct record_file {
	int fd;
	char *path;
	uint8_t *buffer;
	size_t used;
};

#define RECORD_FILE_CLOSED ((struct record_file){.fd = -1})

int record_file_open(struct record_file *file, const char *directory, const char *name,
		     struct failure *failure);
int record_file_append(struct record_file *file, const void *record, size_t size,
		       struct failure *failure);

/* Write what is buffered and close; does nothing on a closed file. Frees in any case. */
int record_file_close(struct record_file *file, struct failure *failure);

#endif
