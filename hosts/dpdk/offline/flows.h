/* SPDX-License-Identifier: Apache-2.0 */
/* The flows of a capture, in the order of their first packets. A flow is its 5-tuple, whatever VLANs
 * its packets are tagged with.
 */
#ifndef NASHBED_FLOWS_H
#define NASHBED_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"

struct capture_flows;

struct capture_flows *capture_flows_create(uint32_t capacity);
void capture_flows_destroy(struct capture_flows *f);

/* Add the flow of a frame, unless it is known in either direction. -ENOSPC: too many flows. */
int capture_flows_add(struct capture_flows *f, const struct flow_tuple *tuple);

/* The number of the flow that a packet is of, in its direction or the reverse one; negative: none. */
int capture_flows_find(const struct capture_flows *f, const struct flow_tuple *tuple, bool reverse);

uint32_t capture_flows_count(const struct capture_flows *f);
const struct flow_tuple *capture_flows_at(const struct capture_flows *f, uint32_t flow);

#endif
