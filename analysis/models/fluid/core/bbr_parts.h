/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the state of every version of BBR. */
#ifndef BBR_PARTS_H
#define BBR_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct bbr_full_pipe {
	double rate;
	uint32_t rounds;
};

struct bbr_probe_rtt {
	/* When it may end; 0: the flight has not drained yet. */
	double until;
	bool round;
};

#endif
