/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending a lane's postcards. */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "live/loop.h"

struct telemetry_request {
	uint32_t lane;
	struct collector *collector;
};

static int
run_telemetry_start(struct dataplane *dp, void *argument)
{
	const struct telemetry_request *r = argument;

	telemetry_start(dp->telemetry, r->lane, r->collector);
	return 0;
}

static int
run_telemetry_stop(struct dataplane *dp, void *argument)
{
	telemetry_stop(dp->telemetry, *(const uint32_t *)argument);
	return 0;
}

static json_t *
read_collector(const struct commands *c, json_t *request, struct collector_config *config,
	       uint32_t *lane_id, const char **path)
{
	json_int_t lane, one_in = 1, bin_ns = 0, first = 0, count = 0;
	json_int_t start_ns = (json_int_t)loop_now_ns(c->dp);
	const char *op, *mode;
	json_error_t where;

	if (COMMAND_UNPACK(request, where, "{s:s, s:I, s:s, s:s, s?I, s?I, s?[I,I], s?I}", "op",
			   &op, "lane", &lane, "mode", &mode, "path", path, "n", &one_in, "bin_ns",
			   &bin_ns, "flows", &first, &count, "start_ns", &start_ns))
		return command_refuse("telemetry: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	if (!command_are_flows(c, first, count))
		return command_no_such_flows(c);
	/* In the hosts role postcards have the switch's times, not ours. */
	if (start_ns < 0)
		return command_refuse("telemetry: start_ns must be 0 or more");
	*lane_id = (uint32_t)lane;
	*config = (struct collector_config){
		.start_ns = (uint64_t)start_ns,
		.first_flow = (uint32_t)first,
		.n_flows = (uint32_t)count,
		.one_in = (uint32_t)one_in,
		.bin_ns = (uint64_t)bin_ns,
	};
	if (strcmp(mode, "all") == 0) {
		config->mode = COLLECT_ALL;
		return NULL;
	}
	if (strcmp(mode, "sample") == 0) {
		config->mode = COLLECT_SAMPLE;
		return one_in >= 1 && one_in <= UINT32_MAX ?
			       NULL :
			       command_refuse("telemetry: n must be 1 or more");
	}
	if (strcmp(mode, "bins") == 0) {
		config->mode = COLLECT_BINS;
		return bin_ns >= 1000 && count > 0 ?
			       NULL :
			       command_refuse(
				       "telemetry: bins need bin_ns of at least 1000 and flows");
	}
	return command_refuse("telemetry: mode must be all, sample or bins");
}

json_t *
command_telemetry(struct commands *c, json_t *request)
{
	struct collector_config config;
	struct telemetry_request r;
	const char *path;
	json_t *refusal = read_collector(c, request, &config, &r.lane, &path);

	if (refusal != NULL)
		return refusal;
	if (telemetry_is_running(c->dp->telemetry, r.lane))
		return command_refuse(
			"telemetry: lane %u is already collecting; telemetry_stop first", r.lane);
	r.collector = collector_open(path, &config);
	if (r.collector == NULL)
		return command_refuse("telemetry: %s: %s", path, strerror(errno));
	mailbox_call(&c->dp->mailbox, run_telemetry_start, &r);
	return command_done();
}

json_t *
command_telemetry_stop(struct commands *c, json_t *request)
{
	struct collector_stats stats;
	json_int_t lane;
	json_error_t where;
	const char *op;
	uint32_t lane_id;
	uint64_t lost;

	if (COMMAND_UNPACK(request, where, "{s:s, s:I}", "op", &op, "lane", &lane))
		return command_refuse("telemetry_stop: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	lane_id = (uint32_t)lane;
	if (!telemetry_is_running(c->dp->telemetry, lane_id))
		return command_refuse("telemetry_stop: lane %u is not collecting", lane_id);
	mailbox_call(&c->dp->mailbox, run_telemetry_stop, &lane_id);
	telemetry_finish(c->dp->telemetry, lane_id, &stats, &lost);
	if (stats.error)
		return command_refuse("telemetry: the file could not be written: %s",
				      strerror(stats.error));
	return json_pack("{s:b, s:I, s:I, s:I, s:I}", "ok", 1, "seen", (json_int_t)stats.seen,
			 "written", (json_int_t)stats.written, "gaps", (json_int_t)stats.gaps,
			 "lost", (json_int_t)lost);
}
