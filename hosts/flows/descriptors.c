/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "descriptors.h"

#define OTHERS 64 /* what the program opens besides the flows */

int
descriptors_reserve(size_t flow_count, struct failure *failure)
{
	rlim_t needed = (rlim_t)flow_count + OTHERS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return failure_set(failure, EXIT_STATUS_INTERNAL, "getrlimit: %s", strerror(errno));
	if (limit.rlim_cur >= needed)
		return 0;

	limit.rlim_cur = needed;
	if (limit.rlim_max < needed)
		limit.rlim_max = needed;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "%zu flows need %llu open files: %s; raise 'ulimit -n'",
				   flow_count, (unsigned long long)needed, strerror(errno));
	return 0;
}
