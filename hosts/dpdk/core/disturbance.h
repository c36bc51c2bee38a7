/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What held a lane's frames up beside their base RTT, over time: a record for each bin of
 * DISTURBANCE_BIN_NS in which anything was sent, and every pause of the loop. Time is an argument.
 */
#ifndef NASHBED_DISTURBANCE_H
#define NASHBED_DISTURBANCE_H

#include <stdint.h>

#include "common/shared.h"
#include "record_log.h"

struct disturbance {
	uint64_t epoch_ns; /* switch time 0, on the clock that records are in */
	struct disturbance_record bin;
	uint64_t bin_end_ns; /* 0: no bin is open */
	struct record_log bins;
	struct record_log pauses;
};

void disturbance_init(struct disturbance *d, uint64_t epoch_ns);

/* Forget all records. */
void disturbance_clear(struct disturbance *d);

/* A frame left towards the receivers, so long after it was scheduled. */
void disturbance_departed(struct disturbance *d, uint64_t now_ns, uint64_t late_ns);

/* A frame left towards the senders; its round trip is too long by so much. */
void disturbance_returned(struct disturbance *d, uint64_t now_ns, uint64_t error_ns);

/* An acknowledgement came so long after the frame that it answers had left. */
void disturbance_answered(struct disturbance *d, uint64_t now_ns, uint64_t response_ns);

/* The loop did not run, from a moment on, so long. */
void disturbance_paused(struct disturbance *d, uint64_t from_ns, uint64_t length_ns);

/* Close the open bin: all records are in `bins` then. */
void disturbance_finish(struct disturbance *d);

/* All bins and pauses to new files, or over old ones. 0 or a negative errno. */
int disturbance_write(const struct disturbance *d, const char *path, const char *pauses_path);

#endif
