/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the packet path: generated packets through delay line, P4 ingress,
 * queue and P4 egress, in virtual time and as fast as the core goes. No port and
 * no file, so that nothing else is measured.
 */
#ifndef NASHBED_BENCH_H
#define NASHBED_BENCH_H

#include <stdint.h>

#include <rte_mempool.h>

#include "common/failure.h"
#include "config/config.h"
#include "pipeline/pipeline.h"

struct bench_request {
	uint64_t packets;
	uint32_t flows;
	uint32_t burst; /* packets that arrive at one time, at most PIPELINE_BURST */
};

/* "PACKETS[,FLOWS[,BURST]]" */
int bench_request_read(const char *text, struct bench_request *request, struct failure *failure);

/* Prints one JSON object on standard output. */
int bench_run(const struct config *config, struct pipeline *pipeline, struct rte_mempool *pool,
	      const struct bench_request *request, struct failure *failure);

#endif
