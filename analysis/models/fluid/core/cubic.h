/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUBIC_H
#define CUBIC_H

#include <stdbool.h>

/* CUBIC's state; windows in packets, times in seconds. */
struct cubic {
	bool slow_start;
	/* Slow start's own limit; infinite until the first loss or HyStart. */
	double ssthresh;
	double last_max;
	/* Since when the window grows by the cubic function; below 0: it begins anew. */
	double epoch;
	double k;
	double origin;
	double reno;
	double min_rtt;
	double recovery_until;
};

#endif
