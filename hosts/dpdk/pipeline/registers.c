/* SPDX-License-Identifier: Apache-2.0 */
#include "registers.h"

#include <inttypes.h>
#include <stdio.h>

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

static uint64_t
read_or_zero(struct pipeline *p, const char *name, uint32_t index)
{
	uint64_t value = 0;

	pipeline_register_read(p, name, index, &value);
	return value;
}

uint64_t
registers_flow(struct pipeline *p, enum flow_register which, uint32_t flow)
{
	return read_or_zero(p, spec_names[which], flow);
}

uint64_t
registers_histogram(struct pipeline *p, uint32_t lane, uint32_t bin)
{
	return read_or_zero(p, "egress_delay_histogram", lane << HISTOGRAM_BINS_LOG2 | bin);
}

void
registers_unshaped(struct pipeline *p, enum unshaped_reason reason, uint64_t *packets,
		   uint64_t *bytes)
{
	*packets = read_or_zero(p, "ingress_unshaped_packets", reason);
	*bytes = read_or_zero(p, "ingress_unshaped_bytes", reason);
}

static int
reset_flow(struct pipeline *p, uint32_t flow)
{
	int error = 0;

	for (int which = 0; !error && which < N_FLOW_REGISTERS; which++)
		error = pipeline_register_write(p, spec_names[which], flow, 0);
	return error;
}

int
registers_reset(struct pipeline *p, uint32_t lane, uint32_t first_flow, uint32_t n_flows)
{
	int error = pipeline_register_write(p, "egress_lane_postcards", lane, 0);

	for (uint32_t bin = 0; !error && bin < HISTOGRAM_BINS; bin++)
		error = pipeline_register_write(p, "egress_delay_histogram",
						lane << HISTOGRAM_BINS_LOG2 | bin, 0);
	for (uint32_t i = 0; !error && i < n_flows; i++)
		error = reset_flow(p, first_flow + i);
	return error;
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
