/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The counters of all lanes together: ports, losses, the loop. */
#include <string.h>

#include "command.h"
#include "pipeline/register_json.h"

struct stats_view {
	struct wire_stats wires[N_WIRES];
	struct bottleneck_drops drops;
	uint64_t no_memory;
	uint64_t discarded;
	uint64_t bad_postcards;
	struct loop_stats loop;
};

static int
run_view_stats(struct dataplane *dp, void *argument)
{
	struct stats_view *view = argument;
	const struct delays *delays = dp->role->delays(dp);

	view->drops = dp->bottleneck.drops;
	view->no_memory = delays->no_memory;
	view->discarded = dp->bottleneck.drops.discarded + delays->discarded;
	view->bad_postcards = dp->hosts.bad_postcards;
	view->loop = dp->loop;
	for (int id = 0; id < N_WIRES; id++) {
		int error;

		if (!config_has_wire(&dp->config, (enum wire_id)id))
			continue;
		error = wire_stats_get(&dp->wires[id], &view->wires[id]);
		if (error)
			return error;
	}
	return 0;
}

static json_t *
wire_stats_json(const struct wire_stats *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "rx_unstamped", (json_int_t)s->rx_unstamped, "rx_packets",
			 (json_int_t)s->rx_packets, "tx_packets", (json_int_t)s->tx_packets,
			 "rx_bytes", (json_int_t)s->rx_bytes, "tx_bytes", (json_int_t)s->tx_bytes,
			 "rx_dropped", (json_int_t)s->rx_dropped, "tx_dropped",
			 (json_int_t)s->tx_dropped, "rx_no_mbuf", (json_int_t)s->rx_no_mbuf,
			 "xdp_rx_dropped", (json_int_t)s->xdp_rx_dropped, "xdp_rx_ring_full",
			 (json_int_t)s->xdp_rx_ring_full, "xdp_fill_ring_empty",
			 (json_int_t)s->xdp_fill_ring_empty, "xdp_tx_invalid",
			 (json_int_t)s->xdp_tx_invalid);
}

static json_t *
ports_json(const struct config *config, const struct stats_view *view)
{
	json_t *ports = json_object();

	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(config, (enum wire_id)id))
			json_object_set_new(ports, wire_names[id],
					    wire_stats_json(&view->wires[id]));
	return ports;
}

static json_t *
rings_json(enum role role, const struct stats_view *v)
{
	if (role == ROLE_HOSTS)
		return json_pack("{s:I, s:I, s:I}", "no_memory", (json_int_t)v->no_memory,
				 "bad_postcards", (json_int_t)v->bad_postcards, "discarded",
				 (json_int_t)v->discarded);
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "no_memory", (json_int_t)v->no_memory, "p4",
			 (json_int_t)v->drops.p4, "bad_lane", (json_int_t)v->drops.bad_lane,
			 "headroom", (json_int_t)v->drops.headroom, "discarded",
			 (json_int_t)v->discarded);
}

static json_t *
loop_json(const struct loop_stats *loop)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "iterations", (json_int_t)loop->iterations, "busy",
			 (json_int_t)loop->busy, "busy_ns", (json_int_t)loop->busy_ns, "max_gap_ns",
			 (json_int_t)loop->max_gap_ns);
}

static int
add_unshaped(json_t *answer, struct pipeline *p, struct failure *failure)
{
	json_t *unshaped = json_object();

	json_object_set_new(answer, "unshaped", unshaped);
	return register_json_add_unshaped(unshaped, p, failure);
}

json_t *
command_stats(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct pipeline *p = c->dp->pipeline;
	struct stats_view view;
	json_t *answer;
	int error;

	if (json_fields_read(place, request, NULL, 0, NULL) < 0)
		return NULL;
	error = mailbox_call(&c->dp->mailbox, run_view_stats, &view);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	answer = json_pack("{s:b, s:o, s:o, s:o}", "ok", 1, "ports",
			   ports_json(&c->dp->config, &view), "rings",
			   rings_json(c->dp->config.role, &view), "loop", loop_json(&view.loop));
	if (p == NULL || add_unshaped(answer, p, place->failure) == 0)
		return answer;
	json_decref(answer);
	return NULL;
}
