/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Starting and ending a lane's postcards. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "command.h"
#include "plane/dataplane.h"

#define BIN_NS_MIN 1000

static const char *const mode_names[] = {
	[COLLECT_ALL] = "all",
	[COLLECT_SAMPLE] = "sample",
	[COLLECT_BINS] = "bins",
	NULL,
};

struct telemetry_request {
	uint32_t lane;
	struct collector_config config;
	struct flow_range flows;
	char path[PATH_MAX];
};

#define FIELD(key, member, reader, least, most, may_miss)                                          \
	{                                                                                          \
		.name = key, .offset = offsetof(struct telemetry_request, member), .read = reader, \
		.min = least, .max = most, .optional = may_miss,                                   \
	}

static const struct json_field fields[] = {
	FIELD("lane", lane, command_read_lane, 0, 0, false),
	{.name = "mode",
	 .offset = offsetof(struct telemetry_request, config.mode),
	 .read = json_read_choice,
	 .choices = mode_names},
	FIELD("path", path, json_read_text, 0, PATH_MAX, false),
	FIELD("n", config.one_in, json_read_u32, 1, UINT32_MAX, true),
	FIELD("bin_ns", config.bin_ns, json_read_i64, 0, INT64_MAX, true),
	FIELD("flows", flows, command_read_flow_range, 0, 0, true),
	/* In the hosts role postcards have the switch's times, not ours. */
	FIELD("start_ns", config.start_ns, json_read_i64, 0, INT64_MAX, true),
};

static int
run_telemetry_start(struct dataplane *dp, void *argument)
{
	telemetry_start(dp->telemetry, *(const uint32_t *)argument);
	return 0;
}

static int
run_telemetry_stop(struct dataplane *dp, void *argument)
{
	telemetry_stop(dp->telemetry, *(const uint32_t *)argument);
	return 0;
}

static int
read_request(struct commands *c, const struct json_place *place, const json_t *request,
	     struct telemetry_request *r)
{
	*r = (struct telemetry_request){
		.config = {.one_in = 1, .start_ns = dataplane_now_ns(c->dp)},
	};
	if (json_fields_read(place, request, fields, RTE_DIM(fields), r) < 0)
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
	mailbox_call(&c->dp->mailbox, run_telemetry_start, &r.lane);
	return command_done();
}

/* The lane's totals, once all of it is in its file; until then null: ask again. */
json_t *
command_telemetry_stop(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field lane_only[] = {
		{.name = "lane", .read = command_read_lane},
	};
	struct collector_stats stats;
	uint64_t lost;
	uint32_t lane;

	if (json_fields_read(place, request, lane_only, RTE_DIM(lane_only), &lane) < 0)
		return NULL;
	if (!telemetry_is_collecting(c->dp->telemetry, lane))
		return command_refuse(place, "lane %u is not collecting", lane);
	if (!telemetry_is_stopped(c->dp->telemetry, lane))
		mailbox_call(&c->dp->mailbox, run_telemetry_stop, &lane);
	if (!telemetry_finish(c->dp->telemetry, lane, &stats, &lost))
		return json_pack("{s:b, s:n}", "ok", 1, "totals");
	if (stats.error)
		return command_refuse(place, "the file could not be written: %s",
				      strerror(stats.error));
	return json_pack("{s:b, s:{s:I, s:I, s:I, s:I}}", "ok", 1, "totals", "seen",
			 (json_int_t)stats.seen, "written", (json_int_t)stats.written, "gaps",
			 (json_int_t)stats.gaps, "lost", (json_int_t)lost);
}
