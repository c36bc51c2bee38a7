/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "loop.h"

#define BATCH 64

int
loop_open(struct loop *loop, struct failure *failure)
{
	struct epoll_event timer_event = {.events = EPOLLIN, .data.ptr = NULL};

	*loop = LOOP_CLOSED;
	loop->failure = failure;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (loop->epoll_fd < 0 || loop->timer_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &timer_event) < 0) {
		failure_set(failure, EXIT_STATUS_HOST, "cannot set up the event loop: %s",
			    strerror(errno));
		loop_close(loop);
		return -1;
	}
	return 0;
}

void
loop_close(struct loop *loop)
{
	if (loop->timer_fd >= 0)
		close(loop->timer_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	*loop = LOOP_CLOSED;
}

static int
control(struct loop *loop, int operation, struct watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};
	int error;

	if (epoll_ctl(loop->epoll_fd, operation, watch->fd, &event) == 0)
		return 0;
	error = errno;
	if (error != EPERM)
		failure_set(loop->failure, EXIT_STATUS_HOST, "epoll_ctl: %s", strerror(error));
	return -error;
}

int
loop_add(struct loop *loop, struct watch *watch, uint32_t events)
{
	return control(loop, EPOLL_CTL_ADD, watch, events);
}

int
loop_change(struct loop *loop, struct watch *watch, uint32_t events)
{
	return control(loop, EPOLL_CTL_MOD, watch, events);
}

void
loop_remove(struct loop *loop, struct watch *watch)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->fd = -1;
}

static int
arm_timer(struct loop *loop, int64_t deadline_ns)
{
	struct itimerspec timer = {0};

	if (deadline_ns == loop->armed_ns)
		return 0;
	if (deadline_ns != NEVER) {
		/* The all-zero time would disarm, so the clock's start counts as its first ns. */
		int64_t at_ns = deadline_ns > 0 ? deadline_ns : 1;

		timer.it_value.tv_sec = at_ns / SECOND_NS;
		timer.it_value.tv_nsec = at_ns % SECOND_NS;
	}
	if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL) < 0)
		return failure_set(loop->failure, EXIT_STATUS_INTERNAL, "timerfd_settime: %s",
				   strerror(errno));
	loop->armed_ns = deadline_ns;
	return 0;
}

static int64_t
next_ns(const struct agenda *agenda, const void *owner)
{
	return agenda->next_ns != NULL ? agenda->next_ns(owner) : NEVER;
}

static int
keep_agenda(const struct agenda *agenda, void *owner, int64_t now_ns)
{
	return now_ns >= next_ns(agenda, owner) ? agenda->due(owner, now_ns) : 0;
}

static int
handle(const struct loop *loop, const struct agenda *agenda, void *owner,
       const struct epoll_event *events, int count)
{
	for (int i = 0; i < count && loop->stop_signal == 0; i++) {
		struct watch *watch = events[i].data.ptr;
		int64_t now_ns = clock_now_ns();

		if (keep_agenda(agenda, owner, now_ns) < 0)
			return -1;
		if (watch != NULL && watch->fd >= 0 &&
		    watch->ready(watch, events[i].events, now_ns) < 0)
			return -1;
	}
	return 0;
}

int
loop_run(struct loop *loop, const struct agenda *agenda, void *owner)
{
	struct epoll_event events[BATCH];

	while (loop->stop_signal == 0 && !agenda->finished(owner)) {
		int count;

		if (arm_timer(loop, next_ns(agenda, owner)) < 0)
			return -1;
		count = epoll_wait(loop->epoll_fd, events, BATCH, -1);
		if (count < 0 && errno != EINTR)
			return failure_set(loop->failure, EXIT_STATUS_INTERNAL, "epoll_wait: %s",
					   strerror(errno));
		if (handle(loop, agenda, owner, events, count) < 0)
			return -1;
	}
	return 0;
}
