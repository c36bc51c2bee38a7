/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Programming a lane's bottleneck and delays, and resetting the lane. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common/nanoseconds.h"
#include "config/discipline_json.h"

#define DELAY_NS_MAX (60 * SECOND_NS)

struct program_request {
	uint32_t lane;
	struct discipline_config config;
};

static int
run_program(struct dataplane *dp, void *argument)
{
	const struct program_request *r = argument;

	return traffic_manager_configure(&dp->bottleneck.tm, r->lane, &r->config);
}

json_t *
command_program(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		{.name = "lane",
		 .read = command_read_lane,
		 .offset = offsetof(struct program_request, lane)},
		DISCIPLINE_JSON_FIELDS(offsetof(struct program_request, config)),
	};
	struct program_request r = {0};
	int error;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	error = mailbox_call(&c->dp->mailbox, run_program, &r);
	if (error == -EBUSY)
		return command_refuse(place, "lane %u has packets queued; reset it first", r.lane);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	return json_pack("{s:b, s:o}", "ok", 1, "applied", discipline_json_write(&r.config));
}

#define DELAY_FIELD(key, member, reader, least, most, may_miss)                                    \
	{                                                                                          \
		.name = key, .offset = offsetof(struct group_delay, member), .read = reader,       \
		.min = least, .max = most, .optional = may_miss,                                   \
	}

static const struct json_field delay_fields[] = {
	DELAY_FIELD("lane", lane, command_read_lane, 0, 0, false),
	DELAY_FIELD("group", group, json_read_u32, 0, GROUPS_PER_LANE - 1, false),
	DELAY_FIELD("forward_ns", forward_ns, json_read_i64, 0, DELAY_NS_MAX, false),
	DELAY_FIELD("reverse_ns", reverse_ns, json_read_i64, 0, DELAY_NS_MAX, false),
	DELAY_FIELD("loss_ppb", loss_ppb, json_read_u32, 0, LOSS_CERTAIN_PPB, true),
	DELAY_FIELD("seed", seed, json_read_i64, INT64_MIN, INT64_MAX, true),
};

static int
run_delay(struct dataplane *dp, void *argument)
{
	return delays_configure(dp->role->delays(dp), argument);
}

json_t *
command_delay(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct group_delay delay = {0};
	int error;

	if (json_fields_read(place, request, delay_fields, RTE_DIM(delay_fields), &delay) < 0)
		return NULL;
	error = mailbox_call(&c->dp->mailbox, run_delay, &delay);
	return error ? command_refuse(place, "%s", strerror(-error)) : command_done();
}

struct reset_request {
	uint32_t lane;
	struct flow_range flows;
};

static int
run_reset_lane(struct dataplane *dp, void *argument)
{
	uint32_t lane = ((const struct reset_request *)argument)->lane;

	dp->role->reset_lane(dp, lane);
	hold_ups_clear_lane(&dp->hold_ups, lane);
	memset(&dp->lanes[lane], 0, sizeof(dp->lanes[lane]));
	return 0;
}

json_t *
command_reset(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		{.name = "lane",
		 .read = command_read_lane,
		 .offset = offsetof(struct reset_request, lane)},
		{.name = "flows",
		 .read = command_read_flow_range,
		 .offset = offsetof(struct reset_request, flows)},
	};
	struct pipeline *p = c->dp->pipeline;
	struct reset_request r;
	int error;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	/* First no more packets enter the queue as the lane's flows, then those inside are removed. */
	error = p ? command_remove_flows(c, r.lane) : 0;
	if (!error)
		error = mailbox_call(&c->dp->mailbox, run_reset_lane, &r);
	if (error)
		return command_refuse(place, "%s", strerror(abs(error)));
	if (p && registers_reset(p, r.lane, r.flows.first, r.flows.count, place->failure) < 0)
		return NULL;
	return command_done();
}
