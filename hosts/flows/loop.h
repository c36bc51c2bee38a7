/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: file descriptors with a handler each, and one agenda of things to do by time.
 * Only the loop reads the clock; it passes the time to handlers and agenda. Whatever is due by time is
 * done before the next event is handled, so a long batch of events never delays it by more than
 * one event, and a handler never sees a time whose deadline has not been dealt with.
 */
#ifndef FLOWS_LOOP_H
#define FLOWS_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "common/failure.h"

struct watch {
	int fd; /* negative: not watched, events still in flight are discarded */
	int (*ready)(struct watch *watch, uint32_t events, int64_t now_ns);
};

struct agenda {
	int64_t (*next_ns)(const void *owner);	 /* the next deadline or NEVER; NULL: never any */
	int (*due)(void *owner, int64_t now_ns); /* do what is due, next_ns() moves on */
	bool (*finished)(const void *owner);
};

struct loop {
	int epoll_fd;
	int timer_fd;
	int64_t armed_ns;
	int service;	 /* of the guest's kernel; -1: none */
	int stop_signal; /* not 0: the loop ends because of this signal */
	struct failure *failure;
};

#define LOOP_CLOSED                                                                                \
	((struct loop){.epoll_fd = -1, .timer_fd = -1, .armed_ns = NEVER, .service = -1})

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

int loop_open(struct loop *loop, struct failure *failure);
void loop_close(struct loop *loop);

/*
 * Return 0, or a negative errno with the loop's failure set; except for -EPERM, a regular
 * file, which cannot be watched: that is for the caller to decide.
 */
int loop_add(struct loop *loop, struct watch *watch, uint32_t events);
int loop_change(struct loop *loop, struct watch *watch, uint32_t events);

/* Stop watching without closing the descriptor; the watch's fd becomes -1. */
void loop_remove(struct loop *loop, struct watch *watch);

/* Until the agenda is finished or a signal arrived (0), or something failed (-1). */
int loop_run(struct loop *loop, const struct agenda *agenda, void *owner);

#endif
