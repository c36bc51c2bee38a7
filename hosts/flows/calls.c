/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "calls.h"

int
calls_add(struct calls *calls, long number, const uint64_t arguments[6])
{
	struct nashbed_flows_call *call = &calls->list[calls->count];

	*call = (struct nashbed_flows_call){
		.number = number,
		.expected = NASHBED_FLOWS_ANY,
		.result = -ECANCELED,
		.fd_of = -1,
	};
	memcpy(call->arguments, arguments, sizeof(call->arguments));
	return calls->count++;
}

void
calls_fd_of(struct calls *calls, unsigned int argument, int call)
{
	calls->list[calls->count - 1].fd_of = call;
	calls->list[calls->count - 1].fd_argument = argument;
}

void
calls_expect(struct calls *calls, int64_t result)
{
	calls->list[calls->count - 1].expected = result;
}

static bool
is_as_expected(const struct nashbed_flows_call *call)
{
	return call->expected == NASHBED_FLOWS_ANY ? call->result >= 0 :
						     call->result == call->expected;
}

static void
make_call(struct calls *calls, struct nashbed_flows_call *call)
{
	__u64 *a = call->arguments;
	long result;

	if (call->fd_of >= 0)
		a[call->fd_argument] = (__u64)calls->list[call->fd_of].result;
	result = syscall((long)call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	call->result = result < 0 ? -errno : result;
}

/* Another kernel, or one of ours that is older, makes one at a time. */
static void
make_each(struct calls *calls)
{
	for (int i = 0; i < calls->count; i++) {
		make_call(calls, &calls->list[i]);
		if (!is_as_expected(&calls->list[i]))
			return;
	}
}

bool
calls_make(int service, struct calls *calls)
{
	struct nashbed_flows_rows rows = {
		.rows = (uintptr_t)calls->list,
		.count = (__u64)calls->count,
	};

	if (service < 0 || ioctl(service, NASHBED_FLOWS_CALL, &rows) < 0)
		make_each(calls);
	return is_as_expected(&calls->list[calls->count - 1]);
}

int
calls_error(const struct calls *calls)
{
	for (int i = 0; i < calls->count; i++)
		if (!is_as_expected(&calls->list[i]))
			return (int)-calls->list[i].result;
	return 0;
}

int64_t
calls_result(const struct calls *calls, int call)
{
	return calls->list[call].result;
}
