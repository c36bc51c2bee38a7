/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The files of a lane's records: its postcards, from start to stop, and what held its frames up. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "commands.h"

#define BIN_NS_MIN 1000

static const char *const mode_names[] = {
	[COLLECT_ALL] = "all",
	[COLLECT_BINS] = "bins",
	NULL,
};

struct telemetry_request {
	uint32_t lane;
	struct collector_config config;
	struct flow_range flows;
	char path[PATH_MAX];
};

#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct telemetry_request, key, member, reader, ##__VA_ARGS__)

static const struct json_field telemetry_fields[] = {
	FIELD("lane", lane, as_lane),
	FIELD("mode", config.mode, as_choice, .choices = mode_names),
	FIELD("path", path, as_text),
	FIELD("bin_ns", config.bin_ns, as_number, .optional = true),
	FIELD("overtaken_ns", config.overtaken_ns, as_number, .max = DURATION_NS_MAX,
	      .optional = true),
	FIELD("flows", flows, as_flow_range, .optional = true),
	/* In the hosts role postcards have the switch's times, not ours. */
	FIELD("start_ns", config.start_ns, as_number, .optional = true),
	{0},
};

static int
run_telemetry_start(struct loop *loop, void *argument)
{
	telemetry_start(loop->dp->telemetry, *(const uint32_t *)argument);
	return 0;
}

static int
run_telemetry_stop(struct loop *loop, void *argument)
{
	telemetry_stop(loop->dp->telemetry, *(const uint32_t *)argument);
	return 0;
}

static int
read_request(struct commands *c, const struct json_place *place, const json_t *request,
	     struct telemetry_request *r)
{
	*r = (struct telemetry_request){
		.config.start_ns = dataplane_now_ns(c->dp),
	};
	if (json_fields_read(place, request, telemetry_fields, r) < 0)
		return -1;
	r->config.first_flow = r->flows.first;
	r->config.n_flows = r->flows.count;
	if (r->config.mode == COLLECT_BINS &&
	    (r->config.bin_ns < BIN_NS_MIN || r->config.n_flows == 0))
		return json_place_error(place, "bins need bin_ns of at least %d and flows",
					BIN_NS_MIN);
	return 0;
}

static int
open_file(struct commands *c, const struct telemetry_request *r)
{
	struct collector *collector = collector_open(r->path, &r->config);
	int error;

	if (collector == NULL)
		return -errno;
	error = telemetry_open(c->dp->telemetry, r->lane, collector);
	if (error)
		collector_close(collector);
	return error;
}

json_t *
command_telemetry(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct telemetry_request r;
	int error;

	if (read_request(c, place, request, &r) < 0)
		return NULL;
	if (telemetry_is_collecting(c->dp->telemetry, r.lane))
		return command_refuse(place, "lane %u is already collecting; telemetry_stop first",
				      r.lane);
	error = open_file(c, &r);
	if (error)
		return command_refuse(place, "%.200s: %s", r.path, strerror(-error));
	mailbox_call(&dataplane_postcard_loop(c->dp, r.lane)->mailbox, run_telemetry_start,
		     &r.lane);
	return command_done();
}

/* The lane's totals, once all of it is in its file; until then null: ask again. */
json_t *
command_telemetry_stop(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field lane_only[] = {
		{.name = "lane", .kind = &as_lane},
		{0},
	};
	struct collector_stats stats;
	uint64_t lost;
	uint32_t lane;

	if (json_fields_read(place, request, lane_only, &lane) < 0)
		return NULL;
	if (!telemetry_is_collecting(c->dp->telemetry, lane))
		return command_refuse(place, "lane %u is not collecting", lane);
	if (!telemetry_is_stopped(c->dp->telemetry, lane))
		mailbox_call(&dataplane_postcard_loop(c->dp, lane)->mailbox, run_telemetry_stop,
			     &lane);
	if (!telemetry_finish(c->dp->telemetry, lane, &stats, &lost))
		return json_pack("{s:b, s:n}", "ok", 1, "totals");
	if (stats.error)
		return command_refuse(place, "the file could not be written: %s",
				      strerror(stats.error));
	return json_pack("{s:b, s:{s:I, s:I, s:I, s:I}}", "ok", 1, "totals", "seen",
			 (json_int_t)stats.seen, "written", (json_int_t)stats.written, "gaps",
			 (json_int_t)stats.gaps, "lost", (json_int_t)lost);
}

struct disturbances_request {
	uint32_t lane;
	char path[PATH_MAX];
	char pauses_path[PATH_MAX];
	struct disturbance taken;
};

static const struct json_field disturbances_fields[] = {
	JSON_FIELD(struct disturbances_request, "lane", lane, as_lane),
	JSON_FIELD(struct disturbances_request, "path", path, as_text),
	JSON_FIELD(struct disturbances_request, "pauses_path", pauses_path, as_text),
	{0},
};

/* The data thread goes on with empty records; writing is not its work. */
static int
run_take(struct loop *loop, void *argument)
{
	struct disturbances_request *r = argument;
	struct disturbance *lane = &loop->hold_ups.lanes[r->lane];

	disturbance_finish(lane);
	r->taken = *lane;
	disturbance_init(lane, lane->epoch_ns);
	return 0;
}

static json_t *
write_taken(const struct json_place *place, const struct disturbances_request *r)
{
	const struct disturbance *taken = &r->taken;
	int error = disturbance_write(taken, r->path, r->pauses_path);

	if (error)
		return command_refuse(place, "%.200s: %s", r->path, strerror(-error));
	return json_pack("{s:b, s:I, s:I, s:I}", "ok", 1, "bins", (json_int_t)taken->bins.count,
			 "pauses", (json_int_t)taken->pauses.count, "lost",
			 (json_int_t)(taken->bins.lost + taken->pauses.lost));
}

json_t *
command_disturbances(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct disturbances_request r;
	json_t *answer;

	if (json_fields_read(place, request, disturbances_fields, &r) < 0)
		return NULL;
	mailbox_call(&dataplane_loop(c->dp, r.lane)->mailbox, run_take, &r);
	answer = write_taken(place, &r);
	disturbance_clear(&r.taken);
	return answer;
}
