/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least value of a window of time that slides by a quarter of its length, as hosts/cc/cc_min.h
 * has it: of what was seen in the last 3/4 to 4/4 of the window.
 */
#ifndef SLIDING_H
#define SLIDING_H

#include "bounds.h"

struct sliding_min {
	double since;
	double quarter[4];
};

static inline void
sliding_min_reset(struct sliding_min *least, double now, double value)
{
	*least = (struct sliding_min){.since = now, .quarter = {value, value, value, value}};
}

static inline double
sliding_min_get(const struct sliding_min *least)
{
	const double *quarter = least->quarter;

	return smaller(smaller(quarter[0], quarter[1]), smaller(quarter[2], quarter[3]));
}

static inline void
sliding_min_add(struct sliding_min *least, double now, double window, double value)
{
	double age = now - least->since;

	if (age >= 1.25 * window) {
		sliding_min_reset(least, now, value);
	} else if (age >= window / 4) {
		for (int i = 3; i > 0; i--)
			least->quarter[i] = least->quarter[i - 1];
		least->quarter[0] = value;
		least->since = now;
	} else {
		least->quarter[0] = smaller(least->quarter[0], value);
	}
}

#endif
