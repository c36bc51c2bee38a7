/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The ports of the P4 program in SWX: one input port for a burst of packets, and output
 * ports that record the port and the postcard in the packet's slot. No rings and no
 * copies of packets: of a mirrored packet only the postcard is copied.
 */
#ifndef NASHBED_BURST_H
#define NASHBED_BURST_H

#include <rte_swx_pipeline.h>

#include "native.h"
#include "pipeline.h"

struct burst;

/* What an output port needs to know of itself. */
struct burst_port {
	struct burst *burst;
	uint8_t id;
};

struct burst {
	struct pipeline_slot slots[PIPELINE_BURST];
	struct burst_port ports[PIPELINE_PORTS];
	uint32_t n_in;	 /* slots given */
	uint32_t n_next; /* slots taken by the pipeline */
	uint32_t n_out;	 /* slots back from it */
};

void burst_init(struct burst *b);

/* Have the pipeline, not yet built, use these ports. 0 or a negative errno. */
int burst_configure(struct burst *b, struct rte_swx_pipeline *pipeline);

/* The same for a native pipeline; out is an array of PIPELINE_PORTS. */
struct native_ports burst_native_ports(struct burst *b, void *out[PIPELINE_PORTS]);

/* The first n slots are the next to go in. */
void burst_begin(struct burst *b, uint32_t n);

/* Whether every packet that went in has come out. */
bool burst_is_through(const struct burst *b);

#endif
