/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-guest: the first process of a guest, which is one trial in virtual time. It makes the two
 * hosts and does what it is asked, until there is nobody left to ask; then it powers off.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "channel.h"
#include "host.h"
#include "processes.h"
#include "requests.h"

static const char program[] = "nashbed-guest";

/* A machine that powers off runs no handlers of exit(): gcov's, in a build for it, is called. */
void __gcov_dump(void) __attribute__((weak));

/* Without a console the kernel gives its first process no descriptors; pipes must not become one
 * of the three that everybody expects.
 */
static void
open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int
prepare(struct channel *channel, struct failure *failure)
{
	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "/proc: %s; only a guest's kernel "
				   "starts this program",
				   strerror(errno));
	/* Programs of others see no devices of the host, and so not how many cores it has. */
	if (getenv("NASHBED_PINNED") != NULL && mount("none", "/sys", "tmpfs", MS_RDONLY, NULL) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "/sys: %s", strerror(errno));
	if (channel_open(channel, failure) < 0 || hosts_make(failure) < 0)
		return -1;
	return processes_open(failure);
}

static int
serve(struct channel *channel, struct failure *failure)
{
	const char *line;
	size_t bytes;

	while ((line = channel_read(channel, &bytes, failure)) != NULL)
		if (channel_write(channel, requests_answer(line, bytes), failure) < 0)
			return -1;
	return failure->status == EXIT_STATUS_OK ? 0 : -1;
}

int
main(void)
{
	struct failure failure = {0};
	struct channel channel;

	/* Anybody may try it, but only the first process may power off. */
	if (getpid() != 1) {
		failure_set(&failure, EXIT_STATUS_CONFIG,
			    "only a guest's kernel starts this program");
		return failure_print(&failure, program);
	}
	open_standard_streams();
	if (prepare(&channel, &failure) < 0 || serve(&channel, &failure) < 0)
		failure_print(&failure, program);
	if (__gcov_dump != NULL)
		__gcov_dump();
	sync();
	reboot(RB_POWER_OFF);
	return EXIT_STATUS_INTERNAL;
}
