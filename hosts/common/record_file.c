/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_file.h"

#define BUFFER_BYTES ((size_t)512 * 1024)

static int
write_failed(const struct record_file *file, struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_HOST, "%s: cannot write: %s%s", file->path,
			   strerror(errno), errno == ENOSPC ? "; free some disk space" : "");
}

static int
write_buffer(struct record_file *file, struct failure *failure)
{
	size_t done = 0;

	while (done < file->used) {
		ssize_t written = write(file->fd, file->buffer + done, file->used - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			file->used = 0;
			return write_failed(file, failure);
		}
		done += (size_t)written;
	}
	file->used = 0;
	return 0;
}

static void
release(struct record_file *file)
{
	free(file->path);
	free(file->buffer);
	*file = RECORD_FILE_CLOSED;
}

int
record_file_open(struct record_file *file, const char *directory, const char *name,
		 struct failure *failure)
{
	*file = RECORD_FILE_CLOSED;
	file->buffer = malloc(BUFFER_BYTES);
	if (file->buffer == NULL || asprintf(&file->path, "%s/%s", directory, name) < 0) {
		file->path = NULL;
		release(file);
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory for %s", name);
	}

	file->fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file->fd < 0) {
		failure_set(failure, EXIT_STATUS_HOST,
			    "%s: cannot create: %s; 'out' must be a directory that exists and can "
			    "be written",
			    file->path, strerror(errno));
		release(file);
		return -1;
	}
	return 0;
}

int
record_file_append(struct record_file *file, const void *record, size_t size,
		   struct failure *failure)
{
	if (file->used + size > BUFFER_BYTES && write_buffer(file, failure) < 0)
		return -1;

	memcpy(file->buffer + file->used, record, size);
	file->used += size;
	return 0;
}

int
record_file_close(struct record_file *file, struct failure *failure)
{
	int result;

	if (file->fd < 0)
		return 0;

	result = write_buffer(file, failure);
	if (close(file->fd) < 0)
		result = write_failed(file, failure);
	release(file);
	return result;
}
