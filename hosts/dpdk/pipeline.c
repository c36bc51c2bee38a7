/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>

#define MIRROR_SESSION 1
/* Instructions between two looks at whether the burst is through: small, for
 * what is run beyond the last packet is idle polling.
 */
#define RUN_INSTRUCTIONS 48

struct pipeline {
	struct rte_swx_pipeline *swx;
	struct rte_swx_ctl_pipeline *ctl;
	char digest[SWX_DIGEST_BYTES];
	struct pipeline_slot slots[PIPELINE_BURST];
	uint32_t n_in;	 /* slots given */
	uint32_t n_next; /* slots taken by the pipeline */
	uint32_t n_out;	 /* slots back from it */
};

/* What an output port needs to know of itself. */
struct out_port {
	struct pipeline *pipeline;
	uint8_t id;
	uint64_t n_packets;
	uint64_t n_clones;
};

struct out_port_args {
	struct pipeline *pipeline;
	uint8_t id;
};

static void *
in_create(void *args)
{
	return args;
}

static void
in_free(void *port)
{
	(void)port;
}

static int
in_rx(void *port, struct rte_swx_pkt *pkt)
{
	struct pipeline *p = port;
	struct pipeline_slot *slot;

	if (p->n_next == p->n_in)
		return 0;
	slot = &p->slots[p->n_next++];
	pkt->handle = slot;
	pkt->pkt = slot->mbuf->buf_addr;
	pkt->offset = slot->mbuf->data_off;
	pkt->length = slot->mbuf->pkt_len;
	return 1;
}

static void
in_stats(void *port, struct rte_swx_port_in_stats *stats)
{
	(void)port;
	memset(stats, 0, sizeof(*stats));
}

static void *
out_create(void *args)
{
	const struct out_port_args *a = args;
	struct out_port *port = calloc(1, sizeof(*port));

	if (port != NULL)
		*port = (struct out_port){.pipeline = a->pipeline, .id = a->id};
	return port;
}

static void
out_free(void *port)
{
	free(port);
}

static void
keep_postcard(struct pipeline_slot *slot, const struct rte_swx_pkt *pkt)
{
	memcpy(slot->postcard, pkt->pkt + pkt->offset, POSTCARD_BYTES);
	slot->has_postcard = true;
}

static void
out_tx(void *object, struct rte_swx_pkt *pkt)
{
	struct out_port *port = object;
	struct pipeline_slot *slot = pkt->handle;
	uint32_t strip = 0;

	if (port->id == PIPELINE_TELEMETRY)
		keep_postcard(slot, pkt);
	if (port->id == PIPELINE_TELEMETRY || port->id == PIPELINE_EGRESS)
		strip = POSTCARD_BYTES;
	slot->port = port->id;
	slot->mbuf->data_off = (uint16_t)(pkt->offset + strip);
	slot->mbuf->pkt_len = pkt->length - strip;
	slot->mbuf->data_len = (uint16_t)slot->mbuf->pkt_len;
	port->n_packets++;
	port->pipeline->n_out++;
}

/* The mirror engine: of a mirrored packet only the postcard is kept. */
static void
out_clone_tx(void *object, struct rte_swx_pkt *pkt, uint32_t truncation_length)
{
	struct out_port *port = object;

	(void)truncation_length;
	keep_postcard(pkt->handle, pkt);
	port->n_clones++;
}

static void
out_fast_clone_tx(void *object, struct rte_swx_pkt *pkt)
{
	out_clone_tx(object, pkt, POSTCARD_BYTES);
}

static void
out_stats(void *object, struct rte_swx_port_out_stats *stats)
{
	const struct out_port *port = object;

	memset(stats, 0, sizeof(*stats));
	stats->n_pkts = port->n_packets;
	stats->n_pkts_clone = port->n_clones;
}

static struct rte_swx_port_in_ops in_ops = {
	.create = in_create,
	.free = in_free,
	.pkt_rx = in_rx,
	.stats_read = in_stats,
};

static struct rte_swx_port_out_ops out_ops = {
	.create = out_create,
	.free = out_free,
	.pkt_tx = out_tx,
	.pkt_fast_clone_tx = out_fast_clone_tx,
	.pkt_clone_tx = out_clone_tx,
	.stats_read = out_stats,
};

static int
configure_ports(struct pipeline *p)
{
	struct rte_swx_pipeline_mirroring_params mirroring = {
		.n_slots = 1,
		.n_sessions = 2,
	};
	int error = rte_swx_pipeline_port_in_type_register(p->swx, "burst", &in_ops);

	if (!error)
		error = rte_swx_pipeline_port_out_type_register(p->swx, "burst", &out_ops);
	if (!error)
		error = rte_swx_pipeline_port_in_config(p->swx, 0, "burst", p);
	for (uint8_t id = 0; !error && id < PIPELINE_PORTS; id++) {
		struct out_port_args args = {.pipeline = p, .id = id};

		error = rte_swx_pipeline_port_out_config(p->swx, id, "burst", &args);
	}
	if (!error)
		error = rte_swx_pipeline_mirroring_config(p->swx, &mirroring);
	return error;
}

static int
open_mirror(struct pipeline *p)
{
	struct rte_swx_pipeline_mirroring_session_params session = {
		.port_id = PIPELINE_TELEMETRY,
		.fast_clone = 0,
		.truncation_length = POSTCARD_BYTES,
	};

	return rte_swx_ctl_pipeline_mirroring_session_set(p->swx, MIRROR_SESSION, &session);
}

static int
load(struct pipeline *p, FILE *spec, char *error, size_t error_bytes)
{
	int result;

	swx_spec_digest(spec, p->digest);
	result = rte_swx_pipeline_config(&p->swx, "bottleneck", 0);
	if (!result)
		result = configure_ports(p);
	if (result) {
		snprintf(error, error_bytes, "SWX ports: %s", strerror(abs(result)));
		return result;
	}
	result = swx_spec_load(p->swx, spec, error, error_bytes);
	if (result)
		return result;
	result = rte_swx_pipeline_build(p->swx);
	if (!result)
		result = open_mirror(p);
	if (result) {
		snprintf(error, error_bytes, "SWX build: %s", strerror(abs(result)));
		return result;
	}
	p->ctl = rte_swx_ctl_pipeline_create(p->swx);
	if (p->ctl == NULL)
		snprintf(error, error_bytes, "SWX control: out of memory");
	return p->ctl ? 0 : -ENOMEM;
}

struct pipeline *
pipeline_create(const char *spec_path, char *error, size_t error_bytes)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	FILE *spec = fopen(spec_path, "r");
	char reason[256] = "out of memory";

	if (spec == NULL || p == NULL) {
		snprintf(error, error_bytes, "%s: %s", spec_path, strerror(errno));
		goto fail;
	}
	if (load(p, spec, reason, sizeof(reason)) < 0) {
		snprintf(error, error_bytes, "%s: %s", spec_path, reason);
		goto fail;
	}
	fclose(spec);
	return p;
fail:
	if (spec != NULL)
		fclose(spec);
	if (p != NULL)
		pipeline_destroy(p);
	return NULL;
}

void
pipeline_destroy(struct pipeline *p)
{
	if (p->ctl != NULL)
		rte_swx_ctl_pipeline_free(p->ctl);
	if (p->swx != NULL)
		rte_swx_pipeline_free(p->swx);
	free(p);
}

const char *
pipeline_digest(const struct pipeline *p)
{
	return p->digest;
}

struct pipeline_slot *
pipeline_slots(struct pipeline *p)
{
	return p->slots;
}

void
pipeline_run(struct pipeline *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p->slots[i].has_postcard = false;
	p->n_in = n;
	p->n_next = 0;
	p->n_out = 0;
	/* Every path of the program ends at one of our ports, so this ends. */
	while (p->n_out < n)
		rte_swx_pipeline_run(p->swx, RUN_INSTRUCTIONS);
}

static struct rte_swx_table_entry *
parse_entry(struct pipeline *p, const char *table, const char *text)
{
	int is_blank = 0;

	return rte_swx_ctl_pipeline_table_entry_read(p->ctl, table, text, &is_blank);
}

static void
free_entry(struct rte_swx_table_entry *entry)
{
	free(entry->key);
	free(entry->key_mask);
	free(entry->action_data);
	free(entry);
}

int
pipeline_entry_add(struct pipeline *p, const char *table, const char *text)
{
	struct rte_swx_table_entry *entry = parse_entry(p, table, text);
	int error;

	if (entry == NULL)
		return -EINVAL;
	error = rte_swx_ctl_pipeline_table_entry_add(p->ctl, table, entry);
	free_entry(entry);
	return error;
}

int
pipeline_entry_delete(struct pipeline *p, const char *table, const char *text)
{
	struct rte_swx_table_entry *entry = parse_entry(p, table, text);
	int error;

	if (entry == NULL)
		return -EINVAL;
	error = rte_swx_ctl_pipeline_table_entry_delete(p->ctl, table, entry);
	free_entry(entry);
	return error;
}

int
pipeline_commit(struct pipeline *p)
{
	return rte_swx_ctl_pipeline_commit(p->ctl, 1);
}

int
pipeline_register_read(struct pipeline *p, const char *name, uint32_t index, uint64_t *value)
{
	return rte_swx_ctl_pipeline_regarray_read(p->swx, name, index, value);
}

int
pipeline_register_write(struct pipeline *p, const char *name, uint32_t index, uint64_t value)
{
	return rte_swx_ctl_pipeline_regarray_write(p->swx, name, index, value);
}
