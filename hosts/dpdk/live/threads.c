/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <sched.h>
#include <signal.h>

int
thread_start(pthread_t *thread, const char *name, uint32_t core, void *(*run)(void *),
	     void *argument)
{
	sigset_t all, before;
	cpu_set_t cores;
	int error;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return error;
	pthread_setname_np(*thread, name);
	CPU_ZERO(&cores);
	CPU_SET(core, &cores);
	/* Without that core the scheduler chooses. */
	pthread_setaffinity_np(*thread, sizeof(cores), &cores);
	return 0;
}
