/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The bottleneck of a lane's way back: setting it, and what became of its queue. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "commands.h"
#include "config/lane_json.h"

struct return_request {
	uint32_t lane;
	struct lane_config config;
};

static int
run_return(struct loop *loop, void *argument)
{
	const struct return_request *r = argument;

	return return_queues_configure(&loop->bottleneck.returns, r->lane, &r->config);
}

json_t *
command_return(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct return_request, "lane", lane, as_lane),
		{.kind = &as_object,
		 .fields = return_config_fields,
		 .offset = offsetof(struct return_request, config)},
		{0},
	};
	struct return_request r = {0};
	int error;

	if (json_fields_read(place, request, fields, &r) < 0)
		return NULL;
	error = mailbox_call(&dataplane_loop(c->dp, r.lane)->mailbox, run_return, &r);
	if (error == -EBUSY)
		return command_refuse(place, "lane %u has packets queued; reset it first", r.lane);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	return json_pack("{s:b, s:o}", "ok", 1, "applied",
			 json_fields_write(lane_config_fields, &r.config));
}

struct return_queue_request {
	uint32_t lane;
	char path[PATH_MAX];
	bool is_set;
	struct lane_stats stats;
	struct record_log taken;
};

/* The data thread goes on with empty records; writing is not its work. */
static int
run_take(struct loop *loop, void *argument)
{
	struct return_queue_request *r = argument;
	struct return_queues *returns = &loop->bottleneck.returns;

	r->is_set = return_queues_has(returns, r->lane);
	traffic_manager_stats(&returns->tm, r->lane, &r->stats);
	r->taken = return_queues_take_records(returns, r->lane);
	return 0;
}

json_t *
command_return_queue(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct return_queue_request, "lane", lane, as_lane),
		JSON_FIELD(struct return_queue_request, "path", path, as_text),
		{0},
	};
	struct return_queue_request r = {0};
	json_t *answer = NULL;
	int error;

	if (json_fields_read(place, request, fields, &r) < 0)
		return NULL;
	mailbox_call(&dataplane_loop(c->dp, r.lane)->mailbox, run_take, &r);
	error = r.is_set ? record_log_write(&r.taken, r.path) : 0;
	if (!r.is_set)
		command_refuse(place, "lane %u has no bottleneck on its way back", r.lane);
	else if (error)
		command_refuse(place, "%.200s: %s", r.path, strerror(-error));
	else
		answer = json_pack("{s:b, s:I, s:I, s:I, s:I}", "ok", 1, "bins",
				   (json_int_t)r.taken.count, "lost", (json_int_t)r.taken.lost,
				   "dropped_packets", (json_int_t)r.stats.dropped_packets,
				   "peak_bytes", (json_int_t)r.stats.peak_bytes);
	record_log_clear(&r.taken);
	return answer;
}
