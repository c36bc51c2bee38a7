/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a lane of the traffic manager is to do, and what it says of itself. Its structures are made of
 * the contract's description (common/described_header.py).
 */
#ifndef NASHBED_LANE_CONFIG_H
#define NASHBED_LANE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aqm.h"
#include "memory.h"

/* Times after t0, in order; the array is whoever's made it. */
struct opportunities {
	uint64_t *ns;
	size_t n;
};

#include "core/lane_structures.h"

struct lane_stats {
	uint64_t queue_bytes;
	uint64_t queue_packets;
	uint64_t peak_bytes;
	uint64_t dropped_packets;
};

/* Room for any lane's description, its end included. */
#define DESCRIPTION_BYTES 2048u

#endif
