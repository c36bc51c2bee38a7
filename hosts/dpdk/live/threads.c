/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the data threads, and their requests to them. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "live.h"

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

int
mailbox_init(struct mailbox *box)
{
	atomic_init(&box->pending, NULL);
	box->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return box->wake_fd < 0 ? -errno : 0;
}

void
mailbox_free(struct mailbox *box)
{
	close(box->wake_fd);
}

void
mailbox_wake(const struct mailbox *box)
{
	uint64_t one = 1;

	/* Full only when a wake-up is waiting already. */
	(void)!write(box->wake_fd, &one, sizeof(one));
}

int
mailbox_call(struct mailbox *box, mailbox_request_t run, void *argument)
{
	struct request request = {.run = run, .argument = argument};

	sem_init(&request.done, 0, 0);
	atomic_store_explicit(&box->pending, &request, memory_order_release);
	mailbox_wake(box);
	while (sem_wait(&request.done) != 0)
		;
	sem_destroy(&request.done);
	return request.result;
}

void
mailbox_serve(struct mailbox *box, struct loop *loop)
{
	struct request *request = atomic_load_explicit(&box->pending, memory_order_acquire);

	if (request == NULL)
		return;
	atomic_store_explicit(&box->pending, NULL, memory_order_relaxed);
	request->result = request->run(loop, request->argument);
	sem_post(&request->done);
}
