/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Postcards of one lane reduced to time bins per flow, exactly: bytes and
 * packets departed and dropped, the integral of the flow's bytes in the queue,
 * the sum of queueing delays. A bin is final once a packet that arrived after
 * it has departed, if the queue is first-in first-out; where packets overtake others, once one
 * has departed that arrived so long after it as the longest of them is overtaken. The clock may begin anywhere and wrap
 * on the way: times are taken to be near the last one seen, at first near the start. Records
 * have the lowest 32 bits of a bin's number on the clock that does not wrap.
 */
#ifndef NASHBED_BINS_H
#define NASHBED_BINS_H

#include <stdint.h>
#include <stdio.h>

#include "common/shared.h"

struct bins;

/* Called with each final record that is not empty; non-zero stops. */
typedef int (*bins_emit_t)(void *context, const struct bin_record *record);

/* For flows first to first + count - 1 and packets that arrive from start on, a time of 64 bits.
 * A packet leaves at the latest when one does that arrived overtaken_ns after it (0: first-in
 * first-out). NULL when memory has run out.
 */
struct bins *bins_create(uint64_t bin_ns, uint64_t start_ns, uint64_t overtaken_ns,
			 uint32_t first_flow, uint32_t n_flows);
void bins_destroy(struct bins *bins);

/* 0; -ERANGE for a flow or a time outside; -ENOMEM; what emit returned. */
int bins_add(struct bins *bins, const struct postcard *p, bins_emit_t emit, void *context);

/* After the last postcard: every open bin is final. */
int bins_finish(struct bins *bins, bins_emit_t emit, void *context);

#endif
