/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One request at a time from the control thread to the data thread, which serves it
 * between two rounds of its loop. The request is published by release and read by
 * acquire; a semaphore reports its completion.
 */
#ifndef NASHBED_MAILBOX_H
#define NASHBED_MAILBOX_H

#include <semaphore.h>
#include <stdatomic.h>

struct dataplane;

typedef int (*mailbox_request_t)(struct dataplane *dp, void *argument);

struct request {
	mailbox_request_t run;
	void *argument;
	int result;
	sem_t done;
};

struct mailbox {
	_Atomic(struct request *) pending;
	int wake_fd; /* an eventfd: a sleeping data thread waits on it */
};

/* 0 or a negative errno. */
int mailbox_init(struct mailbox *box);
void mailbox_free(struct mailbox *box);

/* Control thread: wait until the data thread has run it. Returns its result. */
int mailbox_call(struct mailbox *box, mailbox_request_t run, void *argument);

/* Any thread: end the data thread's sleep. Async-signal-safe. */
void mailbox_wake(const struct mailbox *box);

/* Data thread: run the pending request, if there is one. */
void mailbox_serve(struct mailbox *box, struct dataplane *dp);

#endif
