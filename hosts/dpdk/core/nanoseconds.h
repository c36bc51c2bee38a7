/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_NANOSECONDS_H
#define NASHBED_NANOSECONDS_H

#include <stdint.h>

#define NANOSECONDS_PER_SECOND UINT64_C(1000000000)

#endif
