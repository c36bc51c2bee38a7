/* SPDX-License-Identifier: Apache-2.0 */
/* The smoothed round-trip time (RFC 6298): an eighth of each acknowledged packet's. */
#ifndef SMOOTHING_H
#define SMOOTHING_H

#include <math.h>

#define SMOOTHING 0.125

static inline double
smoothed(double mean, double value, double packets)
{
	return mean + -expm1(-SMOOTHING * packets) * (value - mean);
}

#endif
