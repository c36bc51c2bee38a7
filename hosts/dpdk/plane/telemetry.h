/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Postcards from the data threads to files. On a clock (live/telemetry.c) the data thread never
 * waits: it fills chunks and hands them over; each lane has a writer thread that gives them to
 * its collector. Where no empty chunk is left, or too many of the lane wait for a slow file,
 * postcards are lost and counted. In virtual time (virtual/telemetry.c) nothing is hurried: they
 * go to the collectors at once.
 *
 * Who does what: start, add and stop are one data thread's for each lane; the lane's writer alone touches the
 * collector from open until finish, and closes it. Open and finish are the control thread's and
 * wait for no file, so that one lane's slow disk holds up no other lane.
 */
#ifndef NASHBED_TELEMETRY_H
#define NASHBED_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/collector.h"

struct telemetry;

/* NULL when memory has run out. */
struct telemetry *telemetry_create(uint32_t n_lanes, uint32_t n_loops, uint32_t service_core);
void telemetry_destroy(struct telemetry *t);

/* Control thread: a lane's collector, which is ours from here on. 0, or a negative errno where its
 * writer cannot start; the collector is the caller's then.
 */
int telemetry_open(struct telemetry *t, uint32_t lane, struct collector *collector);

/* Data thread; start follows open. */
void telemetry_start(struct telemetry *t, uint32_t lane);
void telemetry_add(struct telemetry *t, uint32_t lane, const uint8_t *bytes);
/* Hand over what is left; no postcard of the lane is taken after it. */
void telemetry_stop(struct telemetry *t, uint32_t lane);

/* Control thread. Finish follows the stop of a lane that is collecting. False: some of it is not
 * in the file yet, ask again. True: the lane is collecting no more; the final statistics, and how
 * many postcards were lost for want of a chunk.
 */
bool telemetry_is_collecting(const struct telemetry *t, uint32_t lane);
bool telemetry_is_stopped(const struct telemetry *t, uint32_t lane);
bool telemetry_finish(struct telemetry *t, uint32_t lane, struct collector_stats *stats,
		      uint64_t *lost);

#endif
