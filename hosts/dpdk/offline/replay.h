/* SPDX-License-Identifier: Apache-2.0 */
/* A capture's packets, at the capture's times, through the data plane in virtual time
 * (virtual/driver.c, as inside a guest). No clock, no port, the same bytes every time.
 *
 * Every TCP or UDP 5-tuple is a flow, numbered in the order of its first
 * packet; one whose opposite direction was seen first is that flow's reverse
 * direction and passes unshaped, as does what is not looked at (frame.h). The delay line
 * delays nothing: the capture's times are arrival times at the switch.
 */
#ifndef NASHBED_REPLAY_H
#define NASHBED_REPLAY_H

#include "common/failure.h"
#include "config/config.h"

/* Writes DIR/departures.pcap, DIR/postcards.raw and DIR/replay.json. */
int replay_run(const struct config *config, const char *capture, const char *out,
	       struct failure *failure);

#endif
