/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Times on the switch clock: postcards carry their lowest 48 bits, which wrap after 78 hours. */
#ifndef NASHBED_SWITCH_CLOCK_H
#define NASHBED_SWITCH_CLOCK_H

#include <stdint.h>

#include "common/shared.h"

#define SWITCH_CLOCK_WRAP_NS (UINT64_C(1) << CLOCK_BITS)

/* The time with these lowest bits that is nearest to another: at most 39 hours from it. Never
 * below 0, the beginning of the clock: what would be is 78 hours later.
 */
static inline uint64_t
switch_clock_unwrap(uint64_t wrapped_ns, uint64_t near_ns)
{
	uint64_t ahead_ns = (wrapped_ns - near_ns) & (SWITCH_CLOCK_WRAP_NS - 1);
	uint64_t back_ns = SWITCH_CLOCK_WRAP_NS - ahead_ns;

	return ahead_ns < SWITCH_CLOCK_WRAP_NS / 2 || back_ns > near_ns ? near_ns + ahead_ns :
									  near_ns - back_ns;
}

#endif
