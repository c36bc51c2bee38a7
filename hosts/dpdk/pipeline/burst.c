/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "burst.h"

#include <string.h>

#include <rte_swx_port.h>

/* The ports are the burst's, which outlives the pipeline. */
static void *
take_port(void *port)
{
	return port;
}

static void
leave_port(void *port)
{
}

static int
in_rx(void *port, struct rte_swx_pkt *pkt)
{
	struct burst *b = port;
	struct pipeline_slot *slot;

	if (b->n_next == b->n_in)
		return 0;
	slot = &b->slots[b->n_next++];
	pkt->handle = slot;
	pkt->pkt = slot->mbuf->buf_addr;
	pkt->offset = slot->mbuf->data_off;
	pkt->length = slot->mbuf->pkt_len;
	return 1;
}

static void
in_stats(void *port, struct rte_swx_port_in_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
}

static void
save_postcard(struct pipeline_slot *slot, const struct rte_swx_pkt *pkt)
{
	postcard_copy(slot->postcard, pkt->pkt + pkt->offset);
	slot->has_postcard = true;
}

static void
out_tx(void *object, struct rte_swx_pkt *pkt)
{
	struct burst_port *port = object;
	struct pipeline_slot *slot = pkt->handle;
	uint32_t strip = 0;

	if (port->id == PIPELINE_TELEMETRY)
		save_postcard(slot, pkt);
	if (port->id == PIPELINE_TELEMETRY || port->id == PIPELINE_EGRESS)
		strip = postcard_size(pkt->pkt + pkt->offset);
	slot->port = port->id;
	slot->mbuf->data_off = (uint16_t)(pkt->offset + strip);
	slot->mbuf->pkt_len = pkt->length - strip;
	slot->mbuf->data_len = (uint16_t)slot->mbuf->pkt_len;
	port->burst->n_out++;
}

/* The mirror engine: only the postcard of a mirrored packet is copied. */
static void
out_clone_tx(void *port, struct rte_swx_pkt *pkt, uint32_t truncation_length)
{
	save_postcard(pkt->handle, pkt);
}

static void
out_fast_clone_tx(void *object, struct rte_swx_pkt *pkt)
{
	out_clone_tx(object, pkt, POSTCARD_BYTES_MAX);
}

/* What goes through is counted in P4. */
static void
out_stats(void *port, struct rte_swx_port_out_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
}

static struct rte_swx_port_in_ops in_ops = {
	.create = take_port,
	.free = leave_port,
	.pkt_rx = in_rx,
	.stats_read = in_stats,
};

static struct rte_swx_port_out_ops out_ops = {
	.create = take_port,
	.free = leave_port,
	.pkt_tx = out_tx,
	.pkt_fast_clone_tx = out_fast_clone_tx,
	.pkt_clone_tx = out_clone_tx,
	.stats_read = out_stats,
};

void
burst_init(struct burst *b)
{
	memset(b, 0, sizeof(*b));
	for (uint8_t id = 0; id < PIPELINE_PORTS; id++)
		b->ports[id] = (struct burst_port){.burst = b, .id = id};
}

int
burst_configure(struct burst *b, struct rte_swx_pipeline *pipeline)
{
	struct rte_swx_pipeline_mirroring_params mirroring = {
		.n_slots = 1,
		.n_sessions = 2,
	};
	int error = rte_swx_pipeline_port_in_type_register(pipeline, "burst", &in_ops);

	if (!error)
		error = rte_swx_pipeline_port_out_type_register(pipeline, "burst", &out_ops);
	if (!error)
		error = rte_swx_pipeline_port_in_config(pipeline, 0, "burst", b);
	for (uint8_t id = 0; !error && id < PIPELINE_PORTS; id++)
		error = rte_swx_pipeline_port_out_config(pipeline, id, "burst", &b->ports[id]);
	if (!error)
		error = rte_swx_pipeline_mirroring_config(pipeline, &mirroring);
	return error;
}

struct native_ports
burst_native_ports(struct burst *b, void *out[PIPELINE_PORTS])
{
	for (uint8_t id = 0; id < PIPELINE_PORTS; id++)
		out[id] = &b->ports[id];
	return (struct native_ports){
		.in_ops = &in_ops,
		.out_ops = &out_ops,
		.in = b,
		.out = out,
		.n_out = PIPELINE_PORTS,
	};
}

void
burst_begin(struct burst *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		b->slots[i].has_postcard = false;
	b->n_in = n;
	b->n_next = 0;
	b->n_out = 0;
}

bool
burst_is_through(const struct burst *b)
{
	return b->n_out == b->n_in;
}
