/* SPDX-License-Identifier: Apache-2.0 */
/* What drives the data plane on a clock: its loop, and the threads beside it. */
#ifndef NASHBED_LIVE_H
#define NASHBED_LIVE_H

#include <pthread.h>
#include <stdint.h>

#include "plane/dataplane.h"

/* Have the kernel stamp frames at every AF_XDP port (xdp/arrival.bpf.c). Other drivers tell no times
 * of arrival, or none on this machine's clock.
 */
void wires_choose_stamps(struct config *config);

/* Run every loop until dp->stop, the first one in this thread: polling, or sleeping until the next
 * event.
 */
void loops_run(struct dataplane *dp);

/* A thread with a name, pinned to a core if that core exists. 0 or an errno. */
int thread_start(pthread_t *thread, const char *name, uint32_t core, void *(*run)(void *),
		 void *argument);

#endif
