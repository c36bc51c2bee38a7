/* SPDX-License-Identifier: Apache-2.0 */
/* A capture: its packets one by one, each looked at, with times on the switch clock (0 at its
 * first).
 */
#ifndef NASHBED_CAPTURE_H
#define NASHBED_CAPTURE_H

#include <stdint.h>

#include "common/failure.h"
#include "common/shared.h"
#include "frame.h"

/* Where the switch clock wraps: after 78 hours. */
#define CAPTURE_CLOCK_END_NS (UINT64_C(1) << CLOCK_BITS)

/* How far before the latest time a packet may be, as packets of several interfaces or receive queues
 * are in one file: it is taken to come at the latest time, so about as much later as a bin of the
 * queue-delay histogram is wide. What is further back is no reordering: the clock was set, or a
 * time is wrong.
 */
#define CAPTURE_STEP_BACK_NS UINT64_C(1000000)

struct capture {
	const char *path;
	uint64_t first_ns; /* since 1970; switch time 0 */
	uint64_t packets;  /* up to and with the present one */

	uint64_t last_ns;     /* the latest time so far */
	uint64_t last_packet; /* which came then */
	uint64_t last_pause_ns;
	uint64_t backwards; /* packets whose time was before an earlier one's */
	uint64_t furthest_back_ns;
	uint64_t longest_pause_ns; /* between a packet and the one before it */
	uint64_t longest_pause_packet;

	uint64_t not_looked_at[N_FRAME_REASONS];
	uint64_t fcs_packets;	  /* whose FCS was taken off */
	uint64_t trailer_packets; /* whose trailer was */
};

struct capture_packet {
	const uint8_t *frame;
	uint32_t captured; /* of its look.bytes, those that are there */
	struct frame look;
	uint64_t now_ns; /* never before an earlier packet's */
};

/* Returns -1 with its failure set where reading is to end. */
typedef int (*capture_handler)(void *context, const struct capture_packet *packet);

/* Hand every packet over, from the first on. A file or a packet that cannot be replayed is a
 * failure that names it.
 */
int capture_read(struct capture *capture, capture_handler handle, void *context,
		 struct failure *failure);

#endif
