/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers from a seed: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>

struct chance {
	uint64_t state;
};

/* Evenly from [0, 1). */
static inline double
chance_draw(struct chance *chance)
{
	uint64_t z = chance->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

#endif
