/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "common/clock.h"

#define PROCESSES_MAX 64u
#define READ_BYTES 65536u
#define NOT_STARTED 127

struct process {
	pid_t pid;
	int end; /* becomes readable */
	int input;
	int output; /* -1: it has closed it, and all that it said is reported */
	char *text; /* the beginning of a line */
	size_t used;
	size_t capacity;
	bool has_ended;
};

static struct process processes[PROCESSES_MAX];
static uint32_t n_processes;
static int timer_fd = -1;

static int
host_error(struct failure *failure, const char *what)
{
	return failure_set(failure, EXIT_STATUS_HOST, "%s: %s", what, strerror(errno));
}

int
processes_open(struct failure *failure)
{
	signal(SIGPIPE, SIG_IGN);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return timer_fd >= 0 ? 0 : host_error(failure, "timerfd");
}

/* In the child. */
static void __attribute__((noreturn))
become(enum side side, char *const *args, const char *log, int input, int output)
{
	struct failure failure = {0};
	int log_fd = log[0] != '\0' ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;

	signal(SIGPIPE, SIG_DFL);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	if (log_fd >= 0)
		dup2(log_fd, STDERR_FILENO);
	if (host_enter(side, &failure) == 0) {
		execv(args[0], args);
		host_error(&failure, args[0]);
	}
	failure_print(&failure, "nashbed-guest");
	_exit(NOT_STARTED);
}

int
process_start(enum side side, char *const *args, const char *log, struct failure *failure)
{
	struct process *p = &processes[n_processes];
	int input[2], output[2];

	if (n_processes == PROCESSES_MAX)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "a guest runs %u processes at most: two for each of 30 flows "
				   "of programs, or for several, with {flows}",
				   PROCESSES_MAX);
	if (pipe2(input, O_CLOEXEC) < 0)
		return host_error(failure, "pipe");
	if (pipe2(output, O_CLOEXEC) < 0)
		return host_error(failure, "pipe");
	*p = (struct process){.pid = fork(), .input = input[1], .output = output[0]};
	if (p->pid < 0)
		return host_error(failure, "fork");
	if (p->pid == 0)
		become(side, args, log, input[0], output[1]);
	p->end = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->end < 0)
		return host_error(failure, "pidfd_open");
	close(input[0]);
	close(output[1]);
	fcntl(p->output, F_SETFL, O_NONBLOCK);
	return (int)n_processes++;
}

static struct process *
find(uint32_t number, struct failure *failure)
{
	if (number < n_processes)
		return &processes[number];
	failure_set(failure, EXIT_STATUS_CONFIG, "there is no process %u", number);
	return NULL;
}

int
process_send(uint32_t number, const char *line, struct failure *failure)
{
	struct process *p = find(number, failure);

	if (p == NULL)
		return -1;
	return write_line(p->input, line) == 0 ? 0 : host_error(failure, "its input");
}

int
process_signal(uint32_t number, uint32_t signal_number, struct failure *failure)
{
	struct process *p = find(number, failure);

	if (p == NULL)
		return -1;
	/* One that has ended may have its number in use again. */
	if (!p->has_ended && kill(p->pid, (int)signal_number) < 0)
		return host_error(failure, "kill");
	return 0;
}

static void
add_line(json_t *events, uint32_t number, const char *line, size_t bytes)
{
	json_t *text = json_stringn(line, bytes);

	/* What is not UTF-8 is no event of a program of ours. */
	if (text != NULL)
		json_array_append_new(events, json_pack("{s:i, s:o}", "process", (int)number,
							"line", text));
}

static void
add_lines(json_t *events, uint32_t number, struct process *p)
{
	char *start = p->text;
	char *end;

	while ((end = memchr(start, '\n', p->used - (size_t)(start - p->text))) != NULL) {
		add_line(events, number, start, (size_t)(end - start));
		start = end + 1;
	}
	p->used -= (size_t)(start - p->text);
	memmove(p->text, start, p->used);
}

static int
make_room(struct process *p)
{
	char *text;

	if (p->capacity - p->used >= READ_BYTES)
		return 0;
	text = realloc(p->text, 2 * p->capacity + READ_BYTES);
	if (text == NULL)
		return -1;
	p->text = text;
	p->capacity = 2 * p->capacity + READ_BYTES;
	return 0;
}

static int
collect_output(json_t *events, uint32_t number, struct failure *failure)
{
	struct process *p = &processes[number];

	while (p->output >= 0) {
		ssize_t n;

		if (make_room(p) < 0)
			return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
		n = read(p->output, p->text + p->used, p->capacity - p->used);
		if (n < 0)
			return 0;
		if (n == 0) {
			close(p->output);
			p->output = -1;
			return 0;
		}
		p->used += (size_t)n;
		add_lines(events, number, p);
	}
	return 0;
}

static void
collect_end(json_t *events, uint32_t number)
{
	struct process *p = &processes[number];
	int status;

	if (p->has_ended || p->output >= 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->has_ended = true;
	close(p->end);
	close(p->input);
	free(p->text);
	p->text = NULL;
	json_array_append_new(events, json_pack("{s:i, s:i}", "process", (int)number, "exit",
						WIFEXITED(status) ? WEXITSTATUS(status) :
								    128 + WTERMSIG(status)));
}

static int
collect(json_t *events, struct failure *failure)
{
	for (uint32_t i = 0; i < n_processes; i++) {
		if (collect_output(events, i, failure) < 0)
			return -1;
		collect_end(events, i);
	}
	return 0;
}

/* Its output, until it has closed that; then its end. */
static int
awaited(const struct process *p)
{
	return p->output >= 0 ? p->output : p->end;
}

/* True: the time has come. */
static bool
wait_for_output(void)
{
	struct pollfd fds[PROCESSES_MAX + 1] = {{.fd = timer_fd, .events = POLLIN}};
	nfds_t n = 1;

	for (uint32_t i = 0; i < n_processes; i++)
		if (!processes[i].has_ended)
			fds[n++] = (struct pollfd){.fd = awaited(&processes[i]), .events = POLLIN};
	return poll(fds, n, -1) > 0 && fds[0].revents != 0;
}

static int
set_timer(uint64_t until_ns)
{
	struct itimerspec timer = {
		.it_value = {.tv_sec = (time_t)(until_ns / SECOND_NS),
			     .tv_nsec = (long)(until_ns % SECOND_NS)},
	};

	/* The all-zero time would disarm it. */
	if (until_ns == 0)
		timer.it_value.tv_nsec = 1;
	return timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

json_t *
processes_run(uint64_t until_ns, struct failure *failure)
{
	json_t *events = json_array();
	bool is_time = false;

	if (set_timer(until_ns) < 0) {
		host_error(failure, "timerfd");
		json_decref(events);
		return NULL;
	}
	while (collect(events, failure) == 0) {
		if (json_array_size(events) > 0 || is_time)
			return events;
		is_time = wait_for_output();
	}
	json_decref(events);
	return NULL;
}
