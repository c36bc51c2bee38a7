/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* TCP segments in frames of the address plan: what round trips are told apart by. */
#ifndef NASHBED_SEGMENTS_H
#define NASHBED_SEGMENTS_H

#include <stdint.h>

#include "core/round_trips.h"

/* What a frame carries towards the receivers; no connection where nothing is to be acknowledged. */
struct round_trip_data segments_data(const uint8_t *frame, uint32_t bytes, uint32_t n_lanes);

/* What a frame acknowledges towards the senders; no connection where it acknowledges nothing. */
struct round_trip_ack segments_ack(const uint8_t *frame, uint32_t bytes, uint32_t n_lanes);

#endif
