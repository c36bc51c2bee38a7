/* SPDX-License-Identifier: Apache-2.0 */
/* A captured frame as the P4 program can read it. P4 parses Ethernet, IPv4 without options, and TCP
 * or UDP; so whatever a flow's frame begins with is set aside, and a header of that form stands in
 * for it until the frame departs. It has the flow's number as its 5-tuple, the frame's own
 * TCP header and ECN bits, and a total length by which P4 finds the payload. The frame's length is
 * its own.
 */
#ifndef NASHBED_STAND_IN_H
#define NASHBED_STAND_IN_H

#include <rte_mbuf.h>

#include "capture.h"
#include "pipeline/registers.h"

/* The 5-tuple that P4 knows a flow by. */
struct flow_key stand_in_key(uint32_t flow, const struct flow_tuple *tuple);

/* A packet that is not looked at, as captured; NULL: out of buffers. */
struct rte_mbuf *stand_in_none(const struct capture_packet *packet, struct rte_mempool *pool);

/* A packet of a flow; NULL: out of buffers. */
struct rte_mbuf *stand_in_make(const struct capture_packet *packet, uint32_t flow,
			       struct rte_mempool *pool);

/* Put back what was set aside, with CE where the queue marked it. Whether the packet is a flow's;
 * `captured` of its bytes are from the capture.
 */
bool stand_in_undo(struct rte_mbuf *mbuf, uint32_t *captured);

#endif
