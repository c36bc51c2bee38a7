/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How late frames really left after their scheduled departure: a histogram of
 * logarithmic octaves of 16 linear steps each, so a percentile is known to 6 %.
 */
#ifndef NASHBED_LATENESS_H
#define NASHBED_LATENESS_H

#include <stdint.h>

#define LATENESS_STEPS_LOG2 4u
#define LATENESS_OCTAVES 40u
#define LATENESS_BINS (LATENESS_OCTAVES << LATENESS_STEPS_LOG2)

struct lateness {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t bins[LATENESS_BINS];
};

static inline uint32_t
lateness_bin(uint64_t ns)
{
	uint32_t steps = 1u << LATENESS_STEPS_LOG2;
	uint32_t octave, bin;

	if (ns < steps)
		return (uint32_t)ns;
	octave = 63u - (uint32_t)__builtin_clzll(ns) - LATENESS_STEPS_LOG2;
	bin = ((octave + 1) << LATENESS_STEPS_LOG2) + (uint32_t)((ns >> octave) & (steps - 1));
	return bin < LATENESS_BINS ? bin : LATENESS_BINS - 1;
}

static inline void
lateness_add(struct lateness *l, uint64_t ns)
{
	l->count++;
	l->sum_ns += ns;
	if (ns > l->max_ns)
		l->max_ns = ns;
	l->bins[lateness_bin(ns)]++;
}

/* The last time that falls into the bin. */
static inline uint64_t
lateness_bin_end_ns(uint32_t bin)
{
	uint32_t octave, step;

	if (bin < (1u << LATENESS_STEPS_LOG2))
		return bin;
	octave = (bin >> LATENESS_STEPS_LOG2) - 1;
	step = bin & ((1u << LATENESS_STEPS_LOG2) - 1);
	return (((UINT64_C(1) << LATENESS_STEPS_LOG2) + step + 1) << octave) - 1;
}

/* The lateness that this share (per mille) of frames did not exceed, rounded up to its
 * bin's end; 0 when there was no frame.
 */
static inline uint64_t
lateness_percentile(const struct lateness *l, uint32_t per_mille)
{
	uint64_t rank = (l->count * per_mille + 999) / 1000;
	uint64_t seen = 0;

	for (uint32_t bin = 0; bin < LATENESS_BINS; bin++) {
		seen += l->bins[bin];
		if (seen >= rank && seen > 0) {
			uint64_t end = lateness_bin_end_ns(bin);

			return end < l->max_ns ? end : l->max_ns;
		}
	}
	return l->max_ns;
}

#endif
