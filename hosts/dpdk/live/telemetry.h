/* SPDX-License-Identifier: Apache-2.0 */
/* Postcards from the data thread to files, without ever making it wait: it
 * fills chunks and passes them on; a writer thread gives them to the lanes'
 * collectors. Where no empty chunk is left postcards are lost and counted.
 *
 * Who does what: start, add and stop are the data thread's; the writer thread
 * alone touches a collector from start until finish, which is the control
 * thread's and waits for the last chunk.
 */
#ifndef NASHBED_TELEMETRY_H
#define NASHBED_TELEMETRY_H

#include <stdint.h>

#include "core/collector.h"

struct telemetry;

/* NULL when memory has run out or the thread cannot start. */
struct telemetry *telemetry_create(uint32_t n_lanes, uint32_t service_core);
void telemetry_destroy(struct telemetry *t);

/* Data thread. */
void telemetry_start(struct telemetry *t, uint32_t lane, struct collector *collector);
void telemetry_add(struct telemetry *t, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES]);
void telemetry_stop(struct telemetry *t, uint32_t lane);

/* Control thread, after a stop: the final statistics and what was lost on the
 * way. -ENOENT where the lane had no collector.
 */
int telemetry_finish(struct telemetry *t, uint32_t lane, struct collector_stats *stats,
		     uint64_t *lost);
int telemetry_is_running(const struct telemetry *t, uint32_t lane);

#endif
