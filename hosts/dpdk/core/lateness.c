/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "lateness.h"

/* The last time that falls into the bin. */
static uint64_t
bin_end_ns(uint32_t bin)
{
	uint32_t octave, step;

	if (bin < (1u << LATENESS_STEPS_LOG2))
		return bin;
	octave = (bin >> LATENESS_STEPS_LOG2) - 1;
	step = bin & ((1u << LATENESS_STEPS_LOG2) - 1);
	return (((UINT64_C(1) << LATENESS_STEPS_LOG2) + step + 1) << octave) - 1;
}

uint64_t
lateness_percentile(const struct lateness *l, uint32_t per_mille)
{
	uint64_t rank = (l->count * per_mille + 999) / 1000;
	uint64_t seen = 0;

	for (uint32_t bin = 0; bin < LATENESS_BINS; bin++) {
		seen += l->bins[bin];
		if (seen >= rank && seen > 0) {
			uint64_t end = bin_end_ns(bin);

			return end < l->max_ns ? end : l->max_ns;
		}
	}
	return l->max_ns;
}
