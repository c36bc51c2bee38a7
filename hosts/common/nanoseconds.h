/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Units of time. No clock: the pure core includes this. */
#ifndef COMMON_NANOSECONDS_H
#define COMMON_NANOSECONDS_H

#include <stdint.h>

#define SECOND_NS INT64_C(1000000000)
#define MILLISECOND_NS INT64_C(1000000)
#define MICROSECOND_NS INT64_C(1000)

#endif
