/* SPDX-License-Identifier: Apache-2.0 */
/* fmin and fmax without their care for NaN, which keeps compilers from inlining them. */
#ifndef BOUNDS_H
#define BOUNDS_H

static inline double
smaller(double a, double b)
{
	return a < b ? a : b;
}

static inline double
larger(double a, double b)
{
	return a > b ? a : b;
}

#endif
