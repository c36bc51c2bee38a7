/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "beside.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
find_ourselves(char path[static PATH_MAX], struct failure *failure)
{
	Dl_info info;
	ssize_t n;

	if (dladdr((const void *)(uintptr_t)beside, &info) != 0 &&
	    strstr(info.dli_fname, ".so") != NULL && realpath(info.dli_fname, path) != NULL)
		return 0;
	n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	if (n < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "/proc/self/exe: %s",
				   strerror(errno));
	path[n] = '\0';
	return 0;
}

int
beside(const char *place, char *path, size_t bytes, struct failure *failure)
{
	char own[PATH_MAX];

	if (find_ourselves(own, failure) < 0)
		return -1;
	strrchr(own, '/')[1] = '\0';
	if ((size_t)snprintf(path, bytes, "%s%s", own, place) >= bytes)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: the path is too long", own);
	return 0;
}
