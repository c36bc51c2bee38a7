/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Numbers of n bytes, 1 to 8, as they stand on the wire: most significant byte first. Where n is
 * a constant, a move or two.
 */
#ifndef COMMON_BIG_ENDIAN_H
#define COMMON_BIG_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
get_be(const uint8_t *bytes, unsigned int n)
{
	uint64_t wire = 0;

	memcpy(&wire, bytes, n);
	return be64toh(wire) >> (64 - 8 * n);
}

static inline void
put_be(uint8_t *bytes, unsigned int n, uint64_t value)
{
	uint64_t wire = htobe64(value << (64 - 8 * n));

	memcpy(bytes, &wire, n);
}

#endif
