/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The control socket served by a thread of its own, beside the data thread. */
#ifndef NASHBED_CONTROL_THREAD_H
#define NASHBED_CONTROL_THREAD_H

#include "common/failure.h"
#include "plane/dataplane.h"

struct control_thread;

/* Listen and start the thread. NULL with the failure set. */
struct control_thread *control_thread_start(struct dataplane *dp, struct failure *failure);

/* Wait for the thread, which ends with dp->stop, while doing the requests it
 * may still have; remove the socket.
 */
void control_thread_join(struct control_thread *t);

#endif
