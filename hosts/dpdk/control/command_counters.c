/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what P4 and the traffic manager counted, per lane. */
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

static json_t *
flows_json(struct pipeline *p, uint32_t first, uint32_t count)
{
	json_t *flows = json_object();

	for (int which = 0; which < N_FLOW_REGISTERS; which++) {
		json_t *values = json_array();

		for (uint32_t i = 0; i < count; i++)
			json_array_append_new(values,
					      json_integer((json_int_t)registers_flow(
						      p, (enum flow_register)which, first + i)));
		json_object_set_new(flows, flow_register_names[which], values);
	}
	return flows;
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

static json_t *
queue_json(struct pipeline *p, const struct lane_view *view)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "queue", view->description,
			 "queue_bytes", (json_int_t)view->queue.queue_bytes, "queue_packets",
			 (json_int_t)view->queue.queue_packets, "peak_bytes",
			 (json_int_t)view->queue.peak_bytes, "dropped_packets",
			 (json_int_t)view->queue.dropped_packets, "histogram_bin_ns",
			 (json_int_t)HISTOGRAM_BIN_NS, "histogram",
			 register_json_histogram(p, view->lane));
}

json_t *
command_counters(struct commands *c, json_t *request)
{
	struct pipeline *p = c->dp->pipeline;
	struct lane_view view = {0};
	json_int_t lane, first, count;
	json_t *told, *queue;
	json_error_t where;
	const char *op;

	if (COMMAND_UNPACK(request, where, "{s:s, s:I, s:[I,I]}", "op", &op, "lane", &lane, "flows",
			   &first, &count))
		return command_refuse("counters: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	if (!command_are_flows(c, first, count))
		return command_no_such_flows(c);
	view.lane = (uint32_t)lane;
	mailbox_call(&c->dp->mailbox, run_view_lane, &view);
	told = lane_json(&view);
	if (p == NULL)
		return json_pack("{s:b, s:o}", "ok", 1, "lane", told);
	queue = queue_json(p, &view);
	json_object_update(told, queue);
	json_decref(queue);
	return json_pack("{s:b, s:o, s:o}", "ok", 1, "flows",
			 flows_json(p, (uint32_t)first, (uint32_t)count), "lane", told);
}
