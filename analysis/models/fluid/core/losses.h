/* SPDX-License-Identifier: Apache-2.0 */
/* Whole packets lost of one flow, for CCAs that count them: fluid loses a little of each. */
#ifndef LOSSES_H
#define LOSSES_H

#include "bounds.h"
#include "cohort.h"

#include <math.h>

/* Above this the number of bursts is near its mean. */
#define MANY_BURSTS 30.0

/* From a Poisson distribution (Knuth, The Art of Computer Programming, vol. 2, 3.4.1). */
static inline double
losses_poisson(struct chance *chance, double mean)
{
	double limit = exp(-mean), product = chance_draw(chance), number = 0;

	if (mean > MANY_BURSTS)
		return mean;
	while (product > limit) {
		product *= chance_draw(chance);
		number += 1;
	}
	return number;
}

/* Drops fall on few flows in bursts: how many packets this flow misses where `lost` is the mean. */
static inline double
losses_draw(struct cohort *flows, double lost)
{
	double burst = larger(1, flows->constants->losing_packets);
	double missed;

	if (lost <= 0)
		return 0;
	missed = burst * losses_poisson(flows->chance, lost / burst);
	flows->missed += missed;
	return missed;
}

#endif
