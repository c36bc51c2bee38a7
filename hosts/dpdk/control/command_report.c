/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the data plane tells of itself: what it is (version, role, clock, sizes, ports), the counters of
 * a lane (those of P4 and of the traffic manager), and those of all lanes together (ports, losses,
 * the loop).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

static json_t *
nic_description(const struct wire_nic *nic)
{
	return json_pack("{s:i, s:s}", "mtu", (int)nic->mtu, "pauses",
			 nic->pauses == PAUSES_OFF ? "off" : "unsupported");
}

static json_t *
wire_description(const struct dataplane *dp, enum wire_id id)
{
	const struct wire_config *w = &dp->config.wires[id];
	char devices[LOOPS_MAX * (NAME_BYTES + 1)] = "";
	size_t used = 0;
	/* A guest's kernel hands a frame over at the moment of its arrival. */
	bool stamps = dp->loops[0].wires[id].stamps || w->driver == DRIVER_VIRTUAL;
	json_t *wire;

	for (uint32_t i = 0; i < w->devices.n; i++)
		used += (size_t)snprintf(devices + used, sizeof(devices) - used, "%s%s",
					 i ? " " : "", w->devices.names[i]);
	wire = json_pack("{s:s, s:s, s:s}", "driver", driver_names[w->driver], "device", devices,
			 "stamps", stamps ? "kernel" : "none");
	if (w->driver == DRIVER_PCI)
		json_object_update_new(wire, nic_description(&dp->loops[0].wires[id].nic));
	return wire;
}

static json_t *
wire_descriptions(const struct dataplane *dp)
{
	json_t *wires = json_object();

	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(&dp->config, (enum wire_id)id))
			json_object_set_new(wires, wire_names[id],
					    wire_description(dp, (enum wire_id)id));
	return wires;
}

json_t *
command_hello(struct commands *c, const struct json_place *place, const json_t *request)
{
	const struct dataplane *dp = c->dp;
	const struct pipeline *p = dp->loops[0].pipeline;

	if (json_fields_read(place, request, no_fields, NULL) < 0)
		return NULL;
	return json_pack("{s:b, s:s, s:s, s:i, s:I, s:i, s:i, s:s*, s:s*, s:i, s:o}", "ok", 1,
			 "version", NASHBED_VERSION, "role", role_names[dp->config.role], "pid",
			 (int)getpid(), "epoch_ns", (json_int_t)dp->epoch_ns, "lanes",
			 (int)dp->config.lanes, "flow_capacity", (int)dp->config.flow_capacity,
			 "spec_digest", p ? pipeline_digest(p) : NULL, "pipeline",
			 p ? pipeline_names[dp->config.pipeline] : NULL, "postcard_bytes",
			 (int)POSTCARD_BYTES, "ports", wire_descriptions(dp));
}

struct lane_view {
	uint32_t lane;
	struct lane_stats queue;
	struct lane_state state;
	uint64_t postcards;
	uint64_t delay_packets;
	uint64_t random_loss_packets;
	char description[DESCRIPTION_BYTES];
};

static int
run_view_lane(struct loop *loop, void *argument)
{
	struct lane_view *view = argument;
	struct bottleneck *b = &loop->bottleneck;
	struct lane_stats returns;

	view->state = loop->dp->lanes[view->lane];
	delays_count(loop->delays, view->lane, &view->delay_packets, &view->random_loss_packets);
	if (loop->pipeline == NULL)
		return 0;
	/* What waits in the queue of the way back is as much under way. */
	traffic_manager_stats(&b->returns.tm, view->lane, &returns);
	view->delay_packets += returns.queue_packets;
	traffic_manager_stats(&b->tm, view->lane, &view->queue);
	traffic_manager_describe(&b->tm, view->lane, view->description, sizeof(view->description));
	return 0;
}

static int
run_view_postcards(struct loop *loop, void *argument)
{
	struct lane_view *view = argument;

	view->postcards = loop->dp->postcards[view->lane].n;
	return 0;
}

static json_t *
lateness_json(const struct lane_state *state)
{
	const struct lateness *l = &state->lateness;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)l->count,
			 "mean_ns", (json_int_t)(l->count ? l->sum_ns / l->count : 0), "p50_ns",
			 (json_int_t)lateness_percentile(l, 500), "p99_ns",
			 (json_int_t)lateness_percentile(l, 990), "p999_ns",
			 (json_int_t)lateness_percentile(l, 999), "max_ns", (json_int_t)l->max_ns,
			 "max_gap_ns", (json_int_t)state->max_gap_ns);
}

static int
add_register(json_t *flows, struct pipeline *p, enum flow_register which,
	     const struct flow_range *range, struct failure *failure)
{
	json_t *values = json_array();

	json_object_set_new(flows, flow_register_names[which], values);
	for (uint32_t i = 0; i < range->count; i++) {
		uint64_t value;

		if (registers_flow(p, which, range->first + i, &value, failure) < 0)
			return -1;
		json_array_append_new(values, json_integer((json_int_t)value));
	}
	return 0;
}

static int
add_registers(json_t *flows, struct pipeline *p, const struct flow_range *range,
	      struct failure *failure)
{
	for (int which = 0; which < N_FLOW_REGISTERS; which++)
		if (add_register(flows, p, (enum flow_register)which, range, failure) < 0)
			return -1;
	return 0;
}

/* What a lane counts in either role. */
static json_t *
lane_json(const struct lane_view *view)
{
	return json_pack("{s:I, s:I, s:I, s:o}", "delay_packets", (json_int_t)view->delay_packets,
			 "random_loss_packets", (json_int_t)view->random_loss_packets, "postcards",
			 (json_int_t)view->postcards, "lateness", lateness_json(&view->state));
}

static int
add_queue(json_t *lane, struct pipeline *p, const struct lane_view *view, struct failure *failure)
{
	json_object_update_new(
		lane, json_pack("{s:s, s:I, s:I, s:I, s:I}", "queue", view->description,
				"queue_bytes", (json_int_t)view->queue.queue_bytes, "queue_packets",
				(json_int_t)view->queue.queue_packets, "peak_bytes",
				(json_int_t)view->queue.peak_bytes, "dropped_packets",
				(json_int_t)view->queue.dropped_packets));
	return registers_add_histogram(lane, p, view->lane, failure);
}

/* What P4 and the traffic manager counted. */
static int
add_bottleneck(json_t *answer, json_t *lane, struct pipeline *p, const struct lane_view *view,
	       const struct flow_range *range, struct failure *failure)
{
	json_t *flows = json_object();

	json_object_set_new(answer, "flows", flows);
	if (add_registers(flows, p, range, failure) < 0)
		return -1;
	return add_queue(lane, p, view, failure);
}

struct counters_request {
	uint32_t lane;
	struct flow_range flows;
};

json_t *
command_counters(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct counters_request, "lane", lane, as_lane),
		JSON_FIELD(struct counters_request, "flows", flows, as_flow_range),
		{0},
	};
	struct lane_view view = {0};
	struct counters_request r;
	json_t *answer, *lane;
	struct pipeline *p;

	if (json_fields_read(place, request, fields, &r) < 0)
		return NULL;
	view.lane = r.lane;
	p = dataplane_loop(c->dp, r.lane)->pipeline;
	mailbox_call(&dataplane_loop(c->dp, r.lane)->mailbox, run_view_lane, &view);
	mailbox_call(&dataplane_postcard_loop(c->dp, r.lane)->mailbox, run_view_postcards, &view);
	lane = lane_json(&view);
	answer = json_pack("{s:b, s:o}", "ok", 1, "lane", lane);
	if (p == NULL || add_bottleneck(answer, lane, p, &view, &r.flows, place->failure) == 0)
		return answer;
	json_decref(answer);
	return NULL;
}

/* Of all loops together. */
struct stats_view {
	struct wire_stats wires[N_WIRES];
	struct bottleneck_drops drops;
	uint64_t no_memory;
	uint64_t discarded;
	uint64_t foreign;
	uint64_t bad_postcards;
	struct loop_stats loop;
};

#define WIRE_FIELD(member) JSON_FIELD(struct wire_stats, #member, member, as_number)

static const struct json_field wire_fields[] = {
	WIRE_FIELD(link_downs),	      WIRE_FIELD(rx_unstamped),
	WIRE_FIELD(rx_packets),	      WIRE_FIELD(tx_packets),
	WIRE_FIELD(rx_bytes),	      WIRE_FIELD(tx_bytes),
	WIRE_FIELD(rx_dropped),	      WIRE_FIELD(tx_dropped),
	WIRE_FIELD(rx_no_mbuf),	      WIRE_FIELD(xdp_rx_dropped),
	WIRE_FIELD(xdp_rx_ring_full), WIRE_FIELD(xdp_fill_ring_empty),
	WIRE_FIELD(xdp_tx_invalid),   {0},
};

static void
add_wire_stats(struct wire_stats *sum, const struct wire_stats *more)
{
	for (const struct json_field *f = wire_fields; f->name != NULL; f++)
		*(uint64_t *)((char *)sum + f->offset) +=
			*(const uint64_t *)((const char *)more + f->offset);
}

static void
add_losses(struct stats_view *view, struct loop *loop)
{
	const struct bottleneck_drops *drops = &loop->bottleneck.drops;
	const struct delays *delays = loop->delays;

	view->drops.p4 += drops->p4;
	view->drops.bad_lane += drops->bad_lane;
	view->drops.headroom += drops->headroom;
	view->no_memory += delays->no_memory;
	view->discarded += drops->discarded + delays->discarded;
	view->foreign += delays->foreign;
	view->bad_postcards += loop->hosts.bad_postcards;
}

static void
add_loop_stats(struct loop_stats *sum, const struct loop_stats *more)
{
	sum->iterations += more->iterations;
	sum->busy += more->busy;
	sum->busy_ns += more->busy_ns;
	sum->max_gap_ns = RTE_MAX(sum->max_gap_ns, more->max_gap_ns);
}

static int
run_add_stats(struct loop *loop, void *argument)
{
	struct stats_view *view = argument;

	add_losses(view, loop);
	add_loop_stats(&view->loop, &loop->stats);
	for (int id = 0; id < N_WIRES; id++) {
		struct wire_stats stats;
		int error;

		if (!loop_has_wire(loop, (enum wire_id)id))
			continue;
		error = wire_stats_get(&loop->wires[id], &stats);
		if (error)
			return error;
		add_wire_stats(&view->wires[id], &stats);
	}
	return 0;
}

static int
view_stats(const struct dataplane *dp, struct stats_view *view)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < dp->config.n_loops; i++)
		error = mailbox_call(&dp->loops[i].mailbox, run_add_stats, view);
	return error;
}

static json_t *
ports_json(const struct config *config, const struct stats_view *view)
{
	json_t *ports = json_object();

	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(config, (enum wire_id)id))
			json_object_set_new(ports, wire_names[id],
					    json_fields_write(wire_fields, &view->wires[id]));
	return ports;
}

static json_t *
rings_json(const struct config *config, const struct stats_view *v)
{
	json_t *rings = json_pack("{s:I, s:I}", "no_memory", (json_int_t)v->no_memory, "discarded",
				  (json_int_t)v->discarded);

	/* A single loop has every lane. */
	if (config->n_loops > 1)
		json_object_set_new(rings, "foreign", json_integer((json_int_t)v->foreign));
	if (config->role == ROLE_HOSTS)
		json_object_set_new(rings, "bad_postcards",
				    json_integer((json_int_t)v->bad_postcards));
	else
		json_object_update_new(rings,
				       json_pack("{s:I, s:I, s:I}", "p4", (json_int_t)v->drops.p4,
						 "bad_lane", (json_int_t)v->drops.bad_lane,
						 "headroom", (json_int_t)v->drops.headroom));
	return rings;
}

static json_t *
loop_json(const struct loop_stats *loop)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "iterations", (json_int_t)loop->iterations, "busy",
			 (json_int_t)loop->busy, "busy_ns", (json_int_t)loop->busy_ns, "max_gap_ns",
			 (json_int_t)loop->max_gap_ns);
}

static int
add_unshaped(json_t *answer, const struct dataplane *dp, struct failure *failure)
{
	struct pipeline *pipelines[LOOPS_MAX];
	json_t *unshaped = json_object();

	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		pipelines[i] = dp->loops[i].pipeline;
	json_object_set_new(answer, "unshaped", unshaped);
	return registers_add_unshaped(unshaped, pipelines, dp->config.n_loops, failure);
}

json_t *
command_stats(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct stats_view view = {0};
	json_t *answer;
	int error;

	if (json_fields_read(place, request, no_fields, NULL) < 0)
		return NULL;
	error = view_stats(c->dp, &view);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	answer = json_pack("{s:b, s:o, s:o, s:o}", "ok", 1, "ports",
			   ports_json(&c->dp->config, &view), "rings",
			   rings_json(&c->dp->config, &view), "loop", loop_json(&view.loop));
	if (c->dp->config.role == ROLE_HOSTS || add_unshaped(answer, c->dp, place->failure) == 0)
		return answer;
	json_decref(answer);
	return NULL;
}
