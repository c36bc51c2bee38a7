/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The P4 program's tables and registers. Control thread only. */
#ifndef NASHBED_REGISTERS_H
#define NASHBED_REGISTERS_H

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

#define UNSHAPED_REASON(identifier, name) UNSHAPED_##identifier,

/* UNSHAPED_REVERSE and so on. */
enum unshaped_reason {
	UNSHAPED_NOT,
	UNSHAPED_REASONS(UNSHAPED_REASON) N_UNSHAPED_REASONS
};

extern const char *const unshaped_names[N_UNSHAPED_REASONS];

struct flow_key {
	uint32_t src;
	uint32_t dst;
	uint16_t sport;
	uint16_t dport;
	uint8_t protocol;
};

/* A register that cannot be read or written is a failure that names it. */
int registers_flow(struct pipeline *p, enum flow_register which, uint32_t flow, uint64_t *value,
		   struct failure *failure);
int registers_histogram(struct pipeline *p, uint32_t lane, uint32_t bin, uint64_t *value,
			struct failure *failure);
int registers_unshaped(struct pipeline *p, enum unshaped_reason reason, uint64_t *packets,
		       uint64_t *bytes, struct failure *failure);

/* Zero a lane's histogram and postcard number, and these flows' registers. */
int registers_reset(struct pipeline *p, uint32_t lane, uint32_t first_flow, uint32_t n_flows,
		    struct failure *failure);

/* Table entries take effect with pipeline_commit(). 0 or a negative errno. */
int registers_flow_add(struct pipeline *p, const struct flow_key *key, uint32_t lane,
		       uint32_t flow);
int registers_flow_delete(struct pipeline *p, const struct flow_key *key);

#endif
