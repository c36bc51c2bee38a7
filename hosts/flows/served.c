/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "served.h"

int
served_open(void)
{
	return open(NASHBED_FLOWS_PATH, O_RDWR | O_CLOEXEC);
}

bool
served_take(int service, int fd, enum nashbed_flows_mode mode)
{
	struct nashbed_flows_take what = {.fd = fd, .mode = mode};

	return service >= 0 && ioctl(service, NASHBED_FLOWS_TAKE, &what) == 0;
}

void
served_give_back(int service, int fd)
{
	__s32 what = fd;

	if (service >= 0)
		ioctl(service, NASHBED_FLOWS_GIVE_BACK, &what);
}

static int
ask(int service, unsigned long what, void *rows, size_t count)
{
	struct nashbed_flows_rows list = {.rows = (uintptr_t)rows, .count = count};

	return ioctl(service, what, &list);
}

int
served_read(int service, struct nashbed_flows_count *rows, size_t count)
{
	return ask(service, NASHBED_FLOWS_READ, rows, count);
}

int
served_sample(int service, struct nashbed_flows_sample *rows, size_t count)
{
	return ask(service, NASHBED_FLOWS_SAMPLE, rows, count);
}
