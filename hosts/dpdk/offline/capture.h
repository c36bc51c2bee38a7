/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a capture file packet by packet, with times on the switch clock: 0 at its first. */
#ifndef NASHBED_CAPTURE_H
#define NASHBED_CAPTURE_H

#include <stdint.h>

#include "common/failure.h"
#include "common/shared.h"

/* Where the switch clock wraps: after 78 hours. */
#define CAPTURE_CLOCK_END_NS (UINT64_C(1) << CLOCK_BITS)

struct capture {
	const char *path;
	uint64_t first_ns;  /* since 1970; switch time 0 */
	uint64_t packets;   /* up to and with the present one */
	uint64_t last_ns;   /* the latest time so far */
	uint64_t backwards; /* packets whose time was before an earlier one's */
};

struct capture_packet {
	const uint8_t *frame;
	uint32_t captured; /* bytes of the frame that are there */
	uint32_t bytes;
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
