/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: a capture's packets, at the capture's times, through P4 ingress,
 * queue and P4 egress. No clock, no port, the same bytes every time.
 *
 * Every TCP or UDP 5-tuple is a flow, numbered in the order of its first
 * packet; one whose opposite direction was seen first is that flow's reverse
 * direction and passes unshaped, as does what belongs to no flow. There is no delay
 * line: the capture's times are arrival times at the switch.
 */
#ifndef NASHBED_REPLAY_H
#define NASHBED_REPLAY_H

#include <rte_mempool.h>

#include "common/failure.h"
#include "config/config.h"
#include "pipeline/pipeline.h"

/* Writes DIR/departures.pcap, DIR/postcards.raw and DIR/replay.json. */
int replay_run(const struct config *config, struct pipeline *pipeline, struct rte_mempool *pool,
	       const char *capture, const char *out, struct failure *failure);

#endif
