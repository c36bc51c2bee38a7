/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "t0_source.h"

bool
t0_source_known(const struct t0_source *source)
{
	return source->t0_ns != T0_FROM_STDIN;
}

static int
parse_line(struct t0_source *source, size_t length)
{
	json_t *json = json_loadb(source->line, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *t0 = json_object_get(json, "t0_ns");
	bool valid = json_object_size(json) == 1 && json_is_integer(t0) &&
		     json_integer_value(t0) >= 0 && json_integer_value(t0) <= INT64_MAX / 2;

	if (valid)
		source->t0_ns = json_integer_value(t0);
	json_decref(json);
	return valid ? 0 :
		       failure_set(source->loop->failure, EXIT_STATUS_CONFIG,
				   "stdin: expected one line {\"t0_ns\": N} with N in ns of "
				   "CLOCK_MONOTONIC");
}

static int
stdin_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct t0_source *source = container_of(watch, struct t0_source, watch);
	struct failure *failure = source->loop->failure;
	const char *newline;
	ssize_t count;

	(void)events;
	(void)now_ns;
	count = read(watch->fd, source->line + source->used, sizeof(source->line) - source->used);
	if (count < 0)
		return errno == EINTR || errno == EAGAIN ?
			       0 :
			       failure_set(failure, EXIT_STATUS_HOST, "stdin: %s", strerror(errno));
	if (count == 0)
		return failure_set(failure, EXIT_STATUS_HOST, "stdin closed before t0 arrived");

	source->used += (size_t)count;
	newline = memchr(source->line, '\n', source->used);
	if (newline == NULL && source->used < sizeof(source->line))
		return 0;
	loop_remove(source->loop, watch);
	return parse_line(source,
			  newline != NULL ? (size_t)(newline - source->line) : source->used);
}

/* A regular file cannot be watched, and need not be: reading it never waits. */
static int
read_file_at_once(struct t0_source *source)
{
	while (source->watch.fd >= 0)
		if (stdin_readable(&source->watch, EPOLLIN, 0) < 0)
			return -1;
	return 0;
}

int
t0_source_open(struct t0_source *source, const struct config *config, struct loop *loop)
{
	int result;

	*source = (struct t0_source){
		.watch = {.fd = STDIN_FILENO, .ready = stdin_readable},
		.loop = loop,
		.t0_ns = config->t0_ns,
	};
	if (t0_source_known(source))
		return 0;
	result = loop_add(loop, &source->watch, EPOLLIN);
	return result == -EPERM ? read_file_at_once(source) : result;
}
