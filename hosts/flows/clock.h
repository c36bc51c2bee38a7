/* SPDX-License-Identifier: Apache-2.0 */
/* The one clock of all nashbed processes. Only the loop and the samplers read it. */
#ifndef FLOWS_CLOCK_H
#define FLOWS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/* The deadlines of what is to happen at once, and of what is not to happen. */
#define NOW INT64_C(0)
#define NEVER INT64_MAX

static inline int64_t
clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

#endif
