/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The P4 program's tables and registers. Control thread only. */
#ifndef NASHBED_REGISTERS_H
#define NASHBED_REGISTERS_H

#include <jansson.h>
#include <stdint.h>

#include "common/failure.h"
#include "common/shared.h"
#include "pipeline.h"

#define HISTOGRAM_BINS (1u << HISTOGRAM_BINS_LOG2)
#define HISTOGRAM_BIN_NS (UINT64_C(1) << HISTOGRAM_SHIFT)

#define FLOW_REGISTER(identifier, name, p4_name) FLOW_##identifier,

/* FLOW_ARRIVED_PACKETS and so on. */
enum flow_register {
	FLOW_REGISTERS(FLOW_REGISTER) N_FLOW_REGISTERS
};

/* As they are called in answers. */
extern const char *const flow_register_names[N_FLOW_REGISTERS];

struct flow_key {
	uint32_t src;
	uint32_t dst;
	uint16_t sport;
	uint16_t dport;
	uint8_t protocol;
};

/* What the flow table has of a flow: its lane, its registers, and which of the lane's queues it is
 * for; QUEUE_BY_DSCP: that the DSCP table has.
 */
struct flow_action {
	uint32_t lane;
	uint32_t flow;
	uint8_t queue;
};

/* A register that cannot be read or written is a failure that names it. */
int registers_flow(struct pipeline *p, enum flow_register which, uint32_t flow, uint64_t *value,
		   struct failure *failure);
int registers_histogram(struct pipeline *p, uint32_t lane, uint32_t bin, uint64_t *value,
			struct failure *failure);

/* Into an object of an answer, or of a replay's summary: "histogram_bin_ns" and "histogram", up to its
 * last bin that is not 0; "<reason>_packets" and "<reason>_bytes" of what passed these pipelines unshaped.
 */
int registers_add_histogram(json_t *object, struct pipeline *p, uint32_t lane,
			    struct failure *failure);
int registers_add_unshaped(json_t *object, struct pipeline *const *pipelines, uint32_t n_pipelines,
			   struct failure *failure);

/* Zero a lane's histogram and postcard number, and these flows' registers. */
int registers_reset(struct pipeline *p, uint32_t lane, uint32_t first_flow, uint32_t n_flows,
		    struct failure *failure);

/* Table entries take effect with pipeline_commit(). 0 or a negative errno. */
int registers_flow_add(struct pipeline *p, const struct flow_key *key,
		       const struct flow_action *action);
int registers_flow_delete(struct pipeline *p, const struct flow_key *key);

/* The queue of a lane's packets with a DSCP, in the place of the one before. Without an entry it is
 * the first.
 */
int registers_dscp_add(struct pipeline *p, uint32_t lane, uint8_t dscp, uint8_t queue);
int registers_dscp_delete(struct pipeline *p, uint32_t lane, uint8_t dscp);

#endif
