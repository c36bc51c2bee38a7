/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the packet path: generated packets through delay line, P4 ingress,
 * queue and P4 egress, in virtual time and as fast as the core goes, on each core of
 * the configuration. No port and no file, so that nothing else is measured; and in
 * bursts, as the loop on a clock puts them through, so not by virtual/driver.c, which
 * puts them through singly.
 */
#ifndef NASHBED_BENCH_H
#define NASHBED_BENCH_H

#include <stdint.h>

#include "common/failure.h"
#include "config/config.h"

struct bench_request {
	uint64_t packets;
	uint32_t flows;
	uint32_t burst; /* packets that arrive at one time, at most PIPELINE_BURST */
};

/* "PACKETS[,FLOWS[,BURST]]"; PACKETS for each packet loop */
int bench_request_read(const char *text, struct bench_request *request, struct failure *failure);

/* Prints one JSON object on standard output. */
int bench_run(const struct config *config, const struct bench_request *request,
	      struct failure *failure);

#endif
