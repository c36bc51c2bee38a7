/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The address plan by which lanes share the ports: lane L, group G has the
 * sender 10.64.L.(G+1) and the receiver 10.65.L.(G+1).
 */
#ifndef NASHBED_ADDRESSES_H
#define NASHBED_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/shared.h"

#define NO_LANE UINT32_MAX

#define IPV4_SRC_OFFSET (ETHERNET_BYTES + 12u)
#define IPV4_DST_OFFSET (ETHERNET_BYTES + 16u)
#define IPV4_END_OFFSET (ETHERNET_BYTES + 20u)

/* The lane and group of the frame by its sender's side address: the source on
 * the way out, the destination on the way back. False: not of the plan.
 */
static inline bool
addresses_group(const uint8_t *frame, uint32_t bytes, bool from_senders, uint32_t n_lanes,
		uint32_t *lane, uint32_t *group)
{
	const uint8_t *address = frame + (from_senders ? IPV4_SRC_OFFSET : IPV4_DST_OFFSET);

	if (bytes < IPV4_END_OFFSET || get_be(frame + 12, 2) != 0x0800)
		return false;
	if (get_be(address, 2) != SENDERS_NETWORK >> 16)
		return false;
	*lane = address[2];
	*group = address[3] - 1u;
	return *lane < n_lanes && *group < GROUPS_PER_LANE;
}

#endif
