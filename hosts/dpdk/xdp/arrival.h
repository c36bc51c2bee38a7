/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the kernel writes in front of a frame as it arrives at a port, as XDP metadata: it travels
 * with the frame through the port's ring, into the packet buffer's headroom.
 */
#ifndef NASHBED_ARRIVAL_H
#define NASHBED_ARRIVAL_H

struct arrival {
	unsigned long long clock_ns; /* CLOCK_MONOTONIC */
};

#endif
