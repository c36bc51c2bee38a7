/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 192

#define FLOW_REGISTER_NAME(identifier, name, p4_name) [FLOW_##identifier] = name,
#define FLOW_REGISTER_P4_NAME(identifier, name, p4_name) [FLOW_##identifier] = p4_name,
#define UNSHAPED_NAME(identifier, name) [UNSHAPED_##identifier] = name,

#define UNSHAPED_REASON(identifier, name) UNSHAPED_##identifier,

/* UNSHAPED_REVERSE and so on. */
enum unshaped_reason {
	UNSHAPED_NOT,
	UNSHAPED_REASONS(UNSHAPED_REASON) N_UNSHAPED_REASONS
};

const char *const flow_register_names[N_FLOW_REGISTERS] = {FLOW_REGISTERS(FLOW_REGISTER_NAME)};
static const char *const unshaped_names[N_UNSHAPED_REASONS] = {UNSHAPED_REASONS(UNSHAPED_NAME)};
static const char *const p4_names[N_FLOW_REGISTERS] = {FLOW_REGISTERS(FLOW_REGISTER_P4_NAME)};

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
	return read_register(p, p4_names[which], flow, value, failure);
}

int
registers_histogram(struct pipeline *p, uint32_t lane, uint32_t bin, uint64_t *value,
		    struct failure *failure)
{
	return read_register(p, P4_DELAY_HISTOGRAM, lane << HISTOGRAM_BINS_LOG2 | bin, value,
			     failure);
}

/* One past the last bin that counts something; -1 on a failure. */
static int
used_bins(struct pipeline *p, uint32_t lane, struct failure *failure)
{
	for (uint32_t n = HISTOGRAM_BINS; n > 0; n--) {
		uint64_t count;

		if (registers_histogram(p, lane, n - 1, &count, failure) < 0)
			return -1;
		if (count > 0)
			return (int)n;
	}
	return 0;
}

int
registers_add_histogram(json_t *object, struct pipeline *p, uint32_t lane, struct failure *failure)
{
	int n = used_bins(p, lane, failure);
	json_t *counts = json_array();

	json_object_set_new(object, "histogram_bin_ns", json_integer((json_int_t)HISTOGRAM_BIN_NS));
	json_object_set_new(object, "histogram", counts);
	for (int bin = 0; bin < n; bin++) {
		uint64_t count;

		if (registers_histogram(p, lane, (uint32_t)bin, &count, failure) < 0)
			return -1;
		json_array_append_new(counts, json_integer((json_int_t)count));
	}
	return n < 0 ? -1 : 0;
}

/* Adds to both. */
static int
count_unshaped(struct pipeline *p, enum unshaped_reason reason, uint64_t *packets, uint64_t *bytes,
	       struct failure *failure)
{
	uint64_t more_packets, more_bytes;

	if (read_register(p, P4_UNSHAPED_PACKETS, reason, &more_packets, failure) < 0 ||
	    read_register(p, P4_UNSHAPED_BYTES, reason, &more_bytes, failure) < 0)
		return -1;
	*packets += more_packets;
	*bytes += more_bytes;
	return 0;
}

int
registers_add_unshaped(json_t *object, struct pipeline *const *pipelines, uint32_t n_pipelines,
		       struct failure *failure)
{
	for (int reason = UNSHAPED_NOT + 1; reason < N_UNSHAPED_REASONS; reason++) {
		uint64_t packets = 0, bytes = 0;
		char key[64];

		for (uint32_t i = 0; i < n_pipelines; i++)
			if (count_unshaped(pipelines[i], (enum unshaped_reason)reason, &packets,
					   &bytes, failure) < 0)
				return -1;
		snprintf(key, sizeof(key), "%s_packets", unshaped_names[reason]);
		json_object_set_new(object, key, json_integer((json_int_t)packets));
		snprintf(key, sizeof(key), "%s_bytes", unshaped_names[reason]);
		json_object_set_new(object, key, json_integer((json_int_t)bytes));
	}
	return 0;
}

static int
reset_flow(struct pipeline *p, uint32_t flow, struct failure *failure)
{
	for (int which = 0; which < N_FLOW_REGISTERS; which++)
		if (clear_register(p, p4_names[which], flow, failure) < 0)
			return -1;
	return 0;
}

static int
reset_lane(struct pipeline *p, uint32_t lane, struct failure *failure)
{
	for (uint32_t bin = 0; bin < HISTOGRAM_BINS; bin++)
		if (clear_register(p, P4_DELAY_HISTOGRAM, lane << HISTOGRAM_BINS_LOG2 | bin,
				   failure) < 0)
			return -1;
	return clear_register(p, P4_LANE_POSTCARDS, lane, failure);
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
registers_flow_add(struct pipeline *p, const struct flow_key *key, const struct flow_action *action)
{
	char text[ENTRY_BYTES];
	int used = print_key(text, sizeof(text), key);

	snprintf(text + used, sizeof(text) - (size_t)used,
		 " action " P4_TO_QUEUE " lane 0x%" PRIx32 " flow 0x%" PRIx32 " queue 0x%" PRIx8,
		 action->lane, action->flow, action->queue);
	return pipeline_entry_add(p, P4_FLOW_TABLE, text);
}

int
registers_flow_delete(struct pipeline *p, const struct flow_key *key)
{
	char text[ENTRY_BYTES];

	print_key(text, sizeof(text), key);
	return pipeline_entry_delete(p, P4_FLOW_TABLE, text);
}

static int
print_dscp(char *text, size_t bytes, uint32_t lane, uint8_t dscp)
{
	return snprintf(text, bytes, "match 0x%" PRIx32 " 0x%" PRIx8, lane, dscp);
}

int
registers_dscp_add(struct pipeline *p, uint32_t lane, uint8_t dscp, uint8_t queue)
{
	char text[ENTRY_BYTES];
	int used = print_dscp(text, sizeof(text), lane, dscp);

	snprintf(text + used, sizeof(text) - (size_t)used,
		 " action " P4_SET_QUEUE " queue 0x%" PRIx8, queue);
	return pipeline_entry_add(p, P4_DSCP_TABLE, text);
}

int
registers_dscp_delete(struct pipeline *p, uint32_t lane, uint8_t dscp)
{
	char text[ENTRY_BYTES];

	print_dscp(text, sizeof(text), lane, dscp);
	return pipeline_entry_delete(p, P4_DSCP_TABLE, text);
}
