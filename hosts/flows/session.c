/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"
#include "served.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/events.h"

static int
signal_arrived(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct session *session = container_of(watch, struct session, signals);
	struct signalfd_siginfo info;

	if (read(watch->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		session->loop.stop_signal = (int)info.ssi_signo;
	return 0;
}

static int
watch_signals(struct session *session)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	session->signals = (struct watch){
		.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC),
		.ready = signal_arrived,
	};
	if (session->signals.fd < 0)
		return failure_set(session->failure, EXIT_STATUS_HOST, "signalfd: %s",
				   strerror(errno));
	return loop_add(&session->loop, &session->signals, EPOLLIN);
}

bool
session_t0_known(const struct session *session)
{
	return session->t0_ns != T0_UNKNOWN;
}

/* The first line is the start, every later one an end. */
static int
take_line(struct session *session, size_t length)
{
	bool is_end = session_t0_known(session);
	const char *key = is_end ? "end_ns" : "t0_ns";
	json_t *json = json_loadb(session->line, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *time = json_object_get(json, key);
	bool valid = json_object_size(json) == 1 && json_is_integer(time) &&
		     json_integer_value(time) >= 0 && json_integer_value(time) <= INT64_MAX / 2;

	if (valid && is_end)
		session->end_ns = json_integer_value(time);
	else if (valid)
		session->t0_ns = json_integer_value(time);
	json_decref(json);
	return valid ? 0 :
		       failure_set(session->failure, EXIT_STATUS_CONFIG,
				   "stdin: expected one line {\"%s\": N} with N in ns of "
				   "CLOCK_MONOTONIC",
				   key);
}

/* A line that is too long is taken as it is, and refused. */
static int
take_lines(struct session *session)
{
	const char *newline;

	while ((newline = memchr(session->line, '\n', session->used)) != NULL) {
		size_t length = (size_t)(newline - session->line);

		if (take_line(session, length) < 0)
			return -1;
		session->used -= length + 1;
		memmove(session->line, newline + 1, session->used);
	}
	return session->used < sizeof(session->line) ? 0 : take_line(session, session->used);
}

/* Whoever has given the start may close stdin. */
static int
stdin_closed(struct session *session)
{
	loop_remove(&session->loop, &session->orders);
	return session_t0_known(session) ? 0 :
					   failure_set(session->failure, EXIT_STATUS_HOST,
						       "stdin closed before t0 arrived");
}

static int
stdin_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct session *session = container_of(watch, struct session, orders);
	ssize_t count = read(watch->fd, session->line + session->used,
			     sizeof(session->line) - session->used);

	if (count < 0)
		return errno == EINTR || errno == EAGAIN ?
			       0 :
			       failure_set(session->failure, EXIT_STATUS_HOST, "stdin: %s",
					   strerror(errno));
	if (count == 0)
		return stdin_closed(session);

	session->used += (size_t)count;
	return take_lines(session);
}

/* A regular file cannot be watched, and need not be: reading it never waits. */
static int
read_file_at_once(struct session *session)
{
	while (session->orders.fd >= 0)
		if (stdin_readable(&session->orders, EPOLLIN, 0) < 0)
			return -1;
	return 0;
}

static int
watch_orders(struct session *session)
{
	int result = loop_add(&session->loop, &session->orders, EPOLLIN);

	return result == -EPERM ? read_file_at_once(session) : result;
}

int
session_open(struct session *session, const struct config *config, struct failure *failure)
{
	*session = (struct session){
		.config = config,
		.failure = failure,
		.signals.fd = -1,
		.orders = {.fd = STDIN_FILENO, .ready = stdin_readable},
		.t0_ns = T0_UNKNOWN,
		.end_ns = NEVER,
		.service = served_open(),
	};
	if (loop_open(&session->loop, failure) < 0 || watch_signals(session) < 0 ||
	    watch_orders(session) < 0) {
		session_close(session);
		return -1;
	}
	session->loop.service = session->service;
	return 0;
}

void
session_close(struct session *session)
{
	if (session->signals.fd >= 0)
		close(session->signals.fd);
	session->signals.fd = -1;
	if (session->service >= 0)
		close(session->service);
	session->service = -1;
	loop_close(&session->loop);
}

int
session_exit_status(const struct session *session)
{
	int signal_number = session->loop.stop_signal;

	return signal_number == 0 ? EXIT_STATUS_OK : EXIT_STATUS_SIGNAL_BASE + signal_number;
}

static const char *
signal_name(int number)
{
	switch (number) {
	case SIGTERM:
		return "SIGTERM";
	case SIGINT:
		return "SIGINT";
	default:
		return "SIGHUP";
	}
}

int
session_report_end(const struct session *session, json_t *flows, json_t *extra)
{
	int signal_number = session->loop.stop_signal;
	json_t *event = json_pack("{s:s}", "event", signal_number == 0 ? "done" : "interrupted");

	if (signal_number != 0)
		json_object_set_new(event, "signal", json_string(signal_name(signal_number)));
	json_object_update_new(event, extra);
	json_object_set_new(event, "flows", flows);
	return event_print(event, session->failure);
}

json_t *
session_moment(const struct session *session, int64_t t_ns)
{
	return t_ns == 0 || !session_t0_known(session) ? json_null() :
							 json_integer(t_ns - session->t0_ns);
}

json_t *
lateness_to_json(const struct lateness *lateness)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)lateness->count, "missed",
			 (json_int_t)lateness->missed, "mean_ns",
			 (json_int_t)lateness_mean_ns(lateness), "max_ns",
			 (json_int_t)lateness->max_ns);
}
