/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the kernel means, where strerror() does not say it. */
static const char *
reason(int error)
{
	switch (error) {
	case EEXIST:
		return "the kernel has a module or a congestion control of this name";
	case EINVAL:
		return "the kernel does not take it as a congestion control; it needs ssthresh, "
		       "undo_cwnd, and cong_avoid or cong_control";
	case ENOEXEC:
		return "not a module for this kernel";
	default:
		return strerror(error);
	}
}

int
module_insert(const char *path, struct failure *failure)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = 0;

	if (fd < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
	if (syscall(SYS_finit_module, fd, "", 0) < 0)
		result = failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path, reason(errno));
	close(fd);
	return result;
}
