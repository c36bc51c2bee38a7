/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The control socket: UNIX stream, one JSON object per line each way. */
#ifndef NASHBED_CONTROL_H
#define NASHBED_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/failure.h"
#include "plane/dataplane.h"

struct control;

/* Who is given requests that are not a command's: one at a time, the next one once
 * control_answer has answered this one.
 */
struct control_other {
	void (*take)(void *context, const char *line, size_t bytes);
	void *context;
};

/* Listen. other may be NULL. NULL with the failure set. */
struct control *control_open(struct dataplane *dp, const struct control_other *other,
			     struct failure *failure);

/* Wait for requests, timeout_ms at most, and answer those that are there. While the other has one,
 * nothing is served.
 */
void control_serve(struct control *c, int timeout_ms);

/* Part of an answer to the request that the other was given; it ends with the newline. */
void control_answer(struct control *c, const char *text, size_t bytes);

/* Whether there was a client and there is none any more. */
bool control_is_deserted(const struct control *c);

/* Drop the clients and remove the socket. */
void control_close(struct control *c);

/* On a clock, in control_thread.c: the socket served by a thread of its own, beside the data thread. */
struct control_thread;

/* Listen and start the thread. NULL with the failure set. */
struct control_thread *control_thread_start(struct dataplane *dp, struct failure *failure);

/* Wait for the thread, which ends with dp->stop, while doing the requests it
 * may still have; remove the socket.
 */
void control_thread_join(struct control_thread *t);

#endif
