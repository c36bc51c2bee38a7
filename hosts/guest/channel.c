/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONTROL_FILE "/proc/nashbed"
#define LINE_BYTES_FIRST 65536u

static int
write_all(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int
write_line(int fd, const char *text)
{
	return write_all(fd, text, strlen(text)) == 0 ? write_all(fd, "\n", 1) : -1;
}

int
channel_open(struct channel *channel, struct failure *failure)
{
	channel->fd = open(CONTROL_FILE, O_RDWR | O_CLOEXEC);
	if (channel->fd < 0)
		return failure_set(failure, EXIT_STATUS_HOST,
				   CONTROL_FILE ": %s; this is not a guest of nashbed",
				   strerror(errno));
	channel->capacity = LINE_BYTES_FIRST;
	channel->line = malloc(channel->capacity);
	return channel->line != NULL ? 0 : failure_set(failure, EXIT_STATUS_HOST, "out of memory");
}

static int
grow(struct channel *channel)
{
	char *line = realloc(channel->line, 2 * channel->capacity);

	if (line == NULL)
		return -1;
	channel->line = line;
	channel->capacity *= 2;
	return 0;
}

const char *
channel_read(struct channel *channel, size_t *bytes, struct failure *failure)
{
	size_t used = 0;

	for (;;) {
		ssize_t n = read(channel->fd, channel->line + used, channel->capacity - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			failure_set(failure, EXIT_STATUS_HOST, CONTROL_FILE ": %s",
				    strerror(errno));
		if (n <= 0)
			return NULL;
		used += (size_t)n;
		if (channel->line[used - 1] == '\n') {
			*bytes = used - 1;
			return channel->line;
		}
		if (used == channel->capacity && grow(channel) < 0) {
			failure_set(failure, EXIT_STATUS_HOST, "out of memory");
			return NULL;
		}
	}
}

int
channel_write(struct channel *channel, json_t *answer, struct failure *failure)
{
	char *text = answer != NULL ? json_dumps(answer, JSON_COMPACT) : NULL;
	int result;

	json_decref(answer);
	if (text == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	result = write_line(channel->fd, text);
	if (result < 0)
		failure_set(failure, EXIT_STATUS_HOST, CONTROL_FILE ": %s", strerror(errno));
	free(text);
	return result;
}
