/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "control.h"
#include "live/live.h"

#define STOP_CHECK_MS 100

struct control_thread {
	struct dataplane *dp;
	struct control *control;
	pthread_t thread;
};

static void *
control_main(void *argument)
{
	struct control_thread *t = argument;

	while (!atomic_load(&t->dp->stop))
		control_serve(t->control, STOP_CHECK_MS);
	return NULL;
}

struct control_thread *
control_thread_start(struct dataplane *dp, struct failure *failure)
{
	struct control_thread *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		failure_set(failure, EXIT_STATUS_HOST, "control: out of memory");
		return NULL;
	}
	t->dp = dp;
	t->control = control_open(dp, NULL, failure);
	if (t->control != NULL &&
	    thread_start(&t->thread, "control", dp->config.service_core, control_main, t) == 0)
		return t;
	if (t->control != NULL) {
		control_close(t->control);
		failure_set(failure, EXIT_STATUS_HOST, "control: cannot start a thread");
	}
	free(t);
	return NULL;
}

void
control_thread_join(struct control_thread *t)
{
	while (pthread_tryjoin_np(t->thread, NULL) == EBUSY) {
		for (uint32_t i = 0; i < t->dp->config.n_loops; i++)
			mailbox_serve(&t->dp->loops[i].mailbox, &t->dp->loops[i]);
		usleep(1000);
	}
	control_close(t->control);
	free(t);
}
