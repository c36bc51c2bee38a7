/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_LOOP_H
#define NASHBED_LOOP_H

#include "dataplane.h"

/* Nanoseconds on the switch clock. */
uint64_t loop_now_ns(const struct dataplane *dp);

/* The sink for the bottleneck of a live data plane; context is the dataplane. */
struct bottleneck_sink loop_sink(struct dataplane *dp);

/* Run until dp->stop: polling, or sleeping until the next event. */
void loop_run(struct dataplane *dp);

#endif
