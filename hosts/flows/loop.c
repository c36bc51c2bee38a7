/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "calls.h"
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

static struct itimerspec
timer_at(int64_t deadline_ns)
{
	struct itimerspec timer = {0};

	if (deadline_ns != NEVER) {
		/* The all-zero time would disarm, so the clock's start counts as its first ns. */
		int64_t at_ns = deadline_ns > 0 ? deadline_ns : 1;

		timer.it_value.tv_sec = at_ns / SECOND_NS;
		timer.it_value.tv_nsec = at_ns % SECOND_NS;
	}
	return timer;
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
       const struct epoll_event *events, int count, int64_t now_ns)
{
	for (int i = 0; i < count && loop->stop_signal == 0; i++) {
		struct watch *watch = events[i].data.ptr;

		if (i > 0)
			now_ns = clock_now_ns();
		if (keep_agenda(agenda, owner, now_ns) < 0)
			return -1;
		if (watch != NULL && watch->fd >= 0 &&
		    watch->ready(watch, events[i].events, now_ns) < 0)
			return -1;
	}
	return 0;
}

/* Arm the timer, wait and read the clock. Returns the number of events, or a negative errno. */
static int
wait_alone(struct loop *loop, int64_t deadline_ns, struct epoll_event *events, int64_t *now_ns)
{
	struct itimerspec timer = timer_at(deadline_ns);
	int count;

	if (deadline_ns != loop->armed_ns &&
	    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL) < 0)
		return -errno;
	count = epoll_wait(loop->epoll_fd, events, BATCH, -1);
	if (count < 0)
		return -errno;
	*now_ns = clock_now_ns();
	return count;
}

/* The same by one call of the guest's kernel. */
static int
wait_served(struct loop *loop, int64_t deadline_ns, struct epoll_event *events, int64_t *now_ns)
{
	struct itimerspec timer = timer_at(deadline_ns);
	struct calls calls = {0};
	struct timespec now;
	int waited;

	if (deadline_ns != loop->armed_ns)
		CALLS_ADD(&calls, timerfd_settime, (uint64_t)loop->timer_fd, TFD_TIMER_ABSTIME,
			  CALL_ARGUMENT(&timer));
	waited = CALLS_ADD(&calls, epoll_pwait, (uint64_t)loop->epoll_fd, CALL_ARGUMENT(events),
			   BATCH, CALL_ARGUMENT(-1L), 0, sizeof(uint64_t));
	CALLS_ADD(&calls, clock_gettime, CLOCK_MONOTONIC, CALL_ARGUMENT(&now));
	if (calls_make(loop->service, &calls))
		*now_ns = now.tv_sec * SECOND_NS + now.tv_nsec;
	else if (calls_result(&calls, waited) >= 0)
		return -EINVAL;
	return (int)calls_result(&calls, waited);
}

int
loop_run(struct loop *loop, const struct agenda *agenda, void *owner)
{
	struct epoll_event events[BATCH];

	while (loop->stop_signal == 0 && !agenda->finished(owner)) {
		int64_t deadline_ns = next_ns(agenda, owner);
		int64_t now_ns = 0;
		int count = loop->service < 0 ? wait_alone(loop, deadline_ns, events, &now_ns) :
						wait_served(loop, deadline_ns, events, &now_ns);

		if (count < 0 && count != -EINTR)
			return failure_set(loop->failure, EXIT_STATUS_INTERNAL,
					   "cannot wait for events: %s", strerror(-count));
		loop->armed_ns = deadline_ns;
		if (handle(loop, agenda, owner, events, count, now_ns) < 0)
			return -1;
	}
	return 0;
}
