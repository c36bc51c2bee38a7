/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Postcards from the data thread to files. On a clock (live/telemetry.c) the data thread never
 * waits: it fills chunks and hands them over; a writer thread gives them to the lanes' collectors.
 * Where no empty chunk is left postcards are lost and counted. In virtual time
 * (virtual/telemetry.c) nothing is hurried: they go to the collectors at once.
 *
 * Who does what: start, add and stop are the data thread's; the writer thread
 * alone touches a collector from start until finish, which is the control
 * thread's and waits until the writer has written every chunk that was handed over.
 */
#ifndef NASHBED_TELEMETRY_H
#define NASHBED_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/collector.h"

struct telemetry;

/* NULL when memory has run out or the thread cannot start. */
struct telemetry *telemetry_create(uint32_t n_lanes, uint32_t service_core);
void telemetry_destroy(struct telemetry *t);

/* Data thread. */
void telemetry_start(struct telemetry *t, uint32_t lane, struct collector *collector);
void telemetry_add(struct telemetry *t, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES]);
/* Hand over what is left; no postcard of the lane is taken after it. */
void telemetry_stop(struct telemetry *t, uint32_t lane);

/* Control thread. Finish follows the stop of a lane that is collecting: the final statistics,
 * and how many postcards were lost for want of a chunk.
 */
bool telemetry_is_collecting(const struct telemetry *t, uint32_t lane);
struct collector_stats telemetry_finish(struct telemetry *t, uint32_t lane, uint64_t *lost);

#endif
