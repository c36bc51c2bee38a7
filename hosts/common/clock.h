/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The one clock of all nashbed processes. Only the loop and the samplers read it. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "nanoseconds.h"

/* The deadlines of what is to happen at once, and of what is not to happen. */
#define NOW INT64_C(0)
#define NEVER INT64_MAX

static inline int64_t
clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

#endif
