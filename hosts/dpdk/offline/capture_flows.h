/* SPDX-License-Identifier: Apache-2.0 */
/* The flows of a capture, in the order of their first packets. */
#ifndef NASHBED_CAPTURE_FLOWS_H
#define NASHBED_CAPTURE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/registers.h"

struct capture_flows;

struct capture_flows *capture_flows_create(uint32_t capacity);
void capture_flows_destroy(struct capture_flows *f);

/* The 5-tuple of an IPv4 TCP or UDP frame that has one to read; a later fragment
 * has none.
 */
bool capture_flows_key(const uint8_t *frame, uint32_t bytes, struct flow_key *key);

/* Would P4 take it for a packet of its flow, by the rules of ingress.p4? Of the
 * frame's bytes only the first `captured` are there; the rest counts as zeros.
 */
bool capture_flows_is_sound(const uint8_t *frame, uint32_t captured, uint32_t bytes);

/* Add the flow of a frame, unless it is known in either direction. -ENOSPC: too many flows. */
int capture_flows_add(struct capture_flows *f, const struct flow_key *key);

/* Whether this is the reverse direction of a flow that came before it. */
bool capture_flows_is_reverse(const struct capture_flows *f, const struct flow_key *key);

uint32_t capture_flows_count(const struct capture_flows *f);
const struct flow_key *capture_flows_at(const struct capture_flows *f, uint32_t flow);

#endif
