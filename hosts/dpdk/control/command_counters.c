/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The counters of a lane: those of P4 and of the traffic manager. */
#include "command.h"
#include "pipeline/register_json.h"

struct lane_view {
	uint32_t lane;
	struct discipline_stats queue;
	struct lane_state state;
	uint64_t delay_packets;
	uint64_t random_loss_packets;
	char description[128];
};

static int
run_view_lane(struct dataplane *dp, void *argument)
{
	struct lane_view *view = argument;
	struct bottleneck *b = &dp->bottleneck;

	view->state = dp->lanes[view->lane];
	delays_count(dp->role->delays(dp), view->lane, &view->delay_packets,
		     &view->random_loss_packets);
	if (dp->pipeline == NULL)
		return 0;
	traffic_manager_stats(&b->tm, view->lane, &view->queue);
	b->tm.ops->describe(b->tm.lanes[view->lane], view->description, sizeof(view->description));
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
			 (json_int_t)view->state.postcards, "lateness",
			 lateness_json(&view->state));
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
	return register_json_add_histogram(lane, p, view->lane, failure);
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
		{.name = "lane",
		 .read = command_read_lane,
		 .offset = offsetof(struct counters_request, lane)},
		{.name = "flows",
		 .read = command_read_flow_range,
		 .offset = offsetof(struct counters_request, flows)},
	};
	struct pipeline *p = c->dp->pipeline;
	struct lane_view view = {0};
	struct counters_request r;
	json_t *answer, *lane;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	view.lane = r.lane;
	mailbox_call(&c->dp->mailbox, run_view_lane, &view);
	lane = lane_json(&view);
	answer = json_pack("{s:b, s:o}", "ok", 1, "lane", lane);
	if (p == NULL || add_bottleneck(answer, lane, p, &view, &r.flows, place->failure) == 0)
		return answer;
	json_decref(answer);
	return NULL;
}
