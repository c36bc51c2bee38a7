/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the data thread. */
#ifndef NASHBED_THREADS_H
#define NASHBED_THREADS_H

#include <pthread.h>
#include <stdint.h>

/* A thread with a name, pinned to a core if that core exists. 0 or an errno. */
int thread_start(pthread_t *thread, const char *name, uint32_t core, void *(*run)(void *),
		 void *argument);

#endif
