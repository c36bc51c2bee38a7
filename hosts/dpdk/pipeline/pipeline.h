/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The P4 program in DPDK's SWX pipeline: bursts of packets go through it and
 * come out in their order, each with the port that P4 chose and its postcard.
 *
 * The packet path is for the data thread alone; tables and registers are for
 * the control thread, while the pipeline runs.
 */
#ifndef NASHBED_PIPELINE_H
#define NASHBED_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "core/postcard.h"
#include "swx_spec.h"

#define PIPELINE_BURST 64u

enum pipeline_port {
	PIPELINE_SENDERS = P4_PORT_SENDERS,
	PIPELINE_RECEIVERS = P4_PORT_RECEIVERS,
	PIPELINE_QUEUE = P4_PORT_QUEUE,
	PIPELINE_EGRESS = P4_PORT_EGRESS,
	PIPELINE_TELEMETRY = P4_PORT_TELEMETRY,
	PIPELINE_DROP = P4_PORT_DROP,
	PIPELINE_PORTS,
};

/* Which of its passes a packet makes. */
enum pass {
	PASS_INGRESS = P4_PASS_INGRESS,
	PASS_DEPARTED = P4_PASS_DEPARTED,
	PASS_DROPPED = P4_PASS_DROPPED,
	PASS_MARKED = P4_PASS_MARKED, /* it departed, and CE is to be set in it */
};

struct pipeline_slot {
	struct rte_mbuf *mbuf;
	uint8_t port;
	bool has_postcard;
	uint8_t postcard[POSTCARD_BYTES_MAX];
};

struct pipeline;

/* Load the .spec: as the native code of a library (native.h), or, where library is
 * "", to be interpreted. NULL with the failure set.
 */
struct pipeline *pipeline_create(const char *spec_path, const char *library,
				 struct failure *failure);
void pipeline_destroy(struct pipeline *p);
const char *pipeline_digest(const struct pipeline *p);

/* The slots to fill with packets, intrinsic header in front, before a run. */
struct pipeline_slot *pipeline_slots(struct pipeline *p);

/* Run the first n slots through; each then has its port and postcard. */
void pipeline_run(struct pipeline *p, uint32_t n);

/* Table and register names are those of the .spec. 0 or a negative errno. */
int pipeline_entry_add(struct pipeline *p, const char *table, const char *entry);
int pipeline_entry_delete(struct pipeline *p, const char *table, const char *entry);
int pipeline_commit(struct pipeline *p);
int pipeline_register_read(struct pipeline *p, const char *name, uint32_t index, uint64_t *value);
int pipeline_register_write(struct pipeline *p, const char *name, uint32_t index, uint64_t value);

#endif
