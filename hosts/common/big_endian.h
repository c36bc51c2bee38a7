/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of n bytes as they stand on the wire, most significant byte first. */
#ifndef COMMON_BIG_ENDIAN_H
#define COMMON_BIG_ENDIAN_H

#include <stdint.h>

static inline uint64_t
get_be(const uint8_t *bytes, unsigned int n)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < n; i++)
		value = value << 8 | bytes[i];
	return value;
}

static inline void
put_be(uint8_t *bytes, unsigned int n, uint64_t value)
{
	for (unsigned int i = n; i > 0; i--) {
		bytes[i - 1] = (uint8_t)value;
		value >>= 8;
	}
}

#endif
