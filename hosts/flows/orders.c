/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "orders.h"

bool
orders_t0_known(const struct orders *orders)
{
	return orders->t0_ns != T0_FROM_STDIN;
}

/* The first line is the start, every later one an end. */
static int
take_line(struct orders *orders, size_t length)
{
	bool is_end = orders_t0_known(orders);
	const char *key = is_end ? "end_ns" : "t0_ns";
	json_t *json = json_loadb(orders->line, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *time = json_object_get(json, key);
	bool valid = json_object_size(json) == 1 && json_is_integer(time) &&
		     json_integer_value(time) >= 0 && json_integer_value(time) <= INT64_MAX / 2;

	if (valid && is_end)
		orders->end_ns = json_integer_value(time);
	else if (valid)
		orders->t0_ns = json_integer_value(time);
	json_decref(json);
	return valid ? 0 :
		       failure_set(orders->loop->failure, EXIT_STATUS_CONFIG,
				   "stdin: expected one line {\"%s\": N} with N in ns of "
				   "CLOCK_MONOTONIC",
				   key);
}

/* A line that is too long is taken as it is, and refused. */
static int
take_lines(struct orders *orders)
{
	const char *newline;

	while ((newline = memchr(orders->line, '\n', orders->used)) != NULL) {
		size_t length = (size_t)(newline - orders->line);

		if (take_line(orders, length) < 0)
			return -1;
		orders->used -= length + 1;
		memmove(orders->line, newline + 1, orders->used);
	}
	return orders->used < sizeof(orders->line) ? 0 : take_line(orders, orders->used);
}

/* Whoever has given the start may close stdin. */
static int
stdin_closed(struct orders *orders)
{
	loop_remove(orders->loop, &orders->watch);
	return orders_t0_known(orders) ? 0 :
					 failure_set(orders->loop->failure, EXIT_STATUS_HOST,
						     "stdin closed before t0 arrived");
}

static int
stdin_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct orders *orders = container_of(watch, struct orders, watch);
	ssize_t count;

	(void)events;
	(void)now_ns;
	count = read(watch->fd, orders->line + orders->used, sizeof(orders->line) - orders->used);
	if (count < 0)
		return errno == EINTR || errno == EAGAIN ?
			       0 :
			       failure_set(orders->loop->failure, EXIT_STATUS_HOST, "stdin: %s",
					   strerror(errno));
	if (count == 0)
		return stdin_closed(orders);

	orders->used += (size_t)count;
	return take_lines(orders);
}

/* A regular file cannot be watched, and need not be: reading it never waits. */
static int
read_file_at_once(struct orders *orders)
{
	while (orders->watch.fd >= 0)
		if (stdin_readable(&orders->watch, EPOLLIN, 0) < 0)
			return -1;
	return 0;
}

int
orders_open(struct orders *orders, const struct config *config, struct loop *loop)
{
	int result;

	*orders = (struct orders){
		.watch = {.fd = STDIN_FILENO, .ready = stdin_readable},
		.loop = loop,
		.t0_ns = config->t0_ns,
		.end_ns = NEVER,
	};
	if (orders_t0_known(orders))
		return 0;
	result = loop_add(loop, &orders->watch, EPOLLIN);
	return result == -EPERM ? read_file_at_once(orders) : result;
}
