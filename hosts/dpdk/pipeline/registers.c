/* SPDX-License-Identifier: Apache-2.0 */
#include "registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOW_TABLE "ingress_flow_table"
#define TO_QUEUE "ingress_to_queue_0"
#define ENTRY_BYTES 192

const char *const flow_register_names[N_FLOW_REGISTERS] = {
	[FLOW_ARRIVED_PACKETS] = "arrived_packets",   [FLOW_ARRIVED_BYTES] = "arrived_bytes",
	[FLOW_DEPARTED_PACKETS] = "departed_packets", [FLOW_DEPARTED_BYTES] = "departed_bytes",
	[FLOW_DROPPED_PACKETS] = "dropped_packets",   [FLOW_DROPPED_BYTES] = "dropped_bytes",
	[FLOW_IN_QUEUE_BYTES] = "in_queue_bytes",     [FLOW_PEAK_QUEUE_BYTES] = "peak_queue_bytes",
};

const char *const unshaped_names[N_UNSHAPED_REASONS] = {
	[UNSHAPED_REVERSE] = "reverse",
	[UNSHAPED_UNKNOWN] = "unknown",
	[UNSHAPED_MALFORMED] = "malformed",
};

static const char *const spec_names[N_FLOW_REGISTERS] = {
	[FLOW_ARRIVED_PACKETS] = "ingress_arrived_packets",
	[FLOW_ARRIVED_BYTES] = "ingress_arrived_bytes",
	[FLOW_DEPARTED_PACKETS] = "egress_departed_packets",
	[FLOW_DEPARTED_BYTES] = "egress_departed_bytes",
	[FLOW_DROPPED_PACKETS] = "egress_dropped_packets",
	[FLOW_DROPPED_BYTES] = "egress_dropped_bytes",
	[FLOW_IN_QUEUE_BYTES] = "in_queue_bytes",
	[FLOW_PEAK_QUEUE_BYTES] = "egress_peak_queue_bytes",
};

static int
fail(struct failure *failure, const char *name, uint32_t index, const char *problem, int error)
{
	return failure_set(failure, EXIT_STATUS_TARGET, "register %s[%" PRIu32 "] %s: %s", name,
			   index, problem, strerror(abs(error)));
}

static int
read_register(struct pipeline *p, const char *name, uint32_t index, uint64_t *value,
	      struct failure *failure)
{
	int error = pipeline_register_read(p, name, index, value);

	return error ? fail(failure, name, index, "cannot be read", error) : 0;
}

static int
clear_register(struct pipeline *p, const char *name, uint32_t index, struct failure *failure)
{
	int error = pipeline_register_write(p, name, index, 0);

	return error ? fail(failure, name, index, "cannot be written", error) : 0;
}

int
registers_flow(struct pipeline *p, enum flow_register which, uint32_t flow, uint64_t *value,
	       struct failure *failure)
{
	return read_register(p, spec_names[which], flow, value, failure);
}

int
registers_histogram(struct pipeline *p, uint32_t lane, uint32_t bin, uint64_t *value,
		    struct failure *failure)
{
	return read_register(p, "egress_delay_histogram", lane << HISTOGRAM_BINS_LOG2 | bin, value,
			     failure);
}

int
registers_unshaped(struct pipeline *p, enum unshaped_reason reason, uint64_t *packets,
		   uint64_t *bytes, struct failure *failure)
{
	if (read_register(p, "ingress_unshaped_packets", reason, packets, failure) < 0)
		return -1;
	return read_register(p, "ingress_unshaped_bytes", reason, bytes, failure);
}

static int
reset_flow(struct pipeline *p, uint32_t flow, struct failure *failure)
{
	for (int which = 0; which < N_FLOW_REGISTERS; which++)
		if (clear_register(p, spec_names[which], flow, failure) < 0)
			return -1;
	return 0;
}

static int
reset_lane(struct pipeline *p, uint32_t lane, struct failure *failure)
{
	for (uint32_t bin = 0; bin < HISTOGRAM_BINS; bin++)
		if (clear_register(p, "egress_delay_histogram", lane << HISTOGRAM_BINS_LOG2 | bin,
				   failure) < 0)
			return -1;
	return clear_register(p, "egress_lane_postcards", lane, failure);
}

int
registers_reset(struct pipeline *p, uint32_t lane, uint32_t first_flow, uint32_t n_flows,
		struct failure *failure)
{
	if (reset_lane(p, lane, failure) < 0)
		return -1;
	for (uint32_t i = 0; i < n_flows; i++)
		if (reset_flow(p, first_flow + i, failure) < 0)
			return -1;
	return 0;
}

static int
print_key(char *text, size_t bytes, const struct flow_key *k)
{
	return snprintf(text, bytes,
			"match 0x%" PRIx32 " 0x%" PRIx32 " 0x%" PRIx16 " 0x%" PRIx16 " 0x%" PRIx8,
			k->src, k->dst, k->sport, k->dport, k->protocol);
}

int
registers_flow_add(struct pipeline *p, const struct flow_key *key, uint32_t lane, uint32_t flow)
{
	char text[ENTRY_BYTES];
	int used = print_key(text, sizeof(text), key);

	snprintf(text + used, sizeof(text) - (size_t)used,
		 " action " TO_QUEUE " lane 0x%" PRIx32 " flow 0x%" PRIx32, lane, flow);
	return pipeline_entry_add(p, FLOW_TABLE, text);
}

int
registers_flow_delete(struct pipeline *p, const struct flow_key *key)
{
	char text[ENTRY_BYTES];

	print_key(text, sizeof(text), key);
	return pipeline_entry_delete(p, FLOW_TABLE, text);
}
