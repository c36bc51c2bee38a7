/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The path of a flow group: its delays, and what one way of it does to its packets besides. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "config/lane_json.h"

static const char *const ways[] = {"forward", "return", NULL};

enum way {
	WAY_FORWARD,
	WAY_RETURN,
};

struct path_request {
	uint32_t lane;
	uint32_t group;
	enum way way;
	struct group_delay delay;
	struct impairment_settings impairment; /* its lists are the request's own */
};

#define FIELD(key, how, ...) JSON_FIELD(struct path_request, #key, key, how, ##__VA_ARGS__)

static const struct json_field delay_fields[] = {
	FIELD(lane, as_lane),
	FIELD(group, as_number, .max = GROUPS_PER_LANE - 1),
	{.kind = &as_object,
	 .fields = group_delay_fields,
	 .offset = offsetof(struct path_request, delay)},
	{0},
};

static const struct json_field impair_fields[] = {
	FIELD(lane, as_lane),
	FIELD(group, as_number, .max = GROUPS_PER_LANE - 1),
	FIELD(way, as_choice, .choices = ways),
	{.kind = &as_object,
	 .fields = impairment_settings_fields,
	 .offset = offsetof(struct path_request, impairment)},
	{0},
};

static int
run_delay(struct loop *loop, void *argument)
{
	const struct path_request *r = argument;

	return delays_configure(loop->delays, r->lane, r->group, &r->delay);
}

static int
run_impair(struct loop *loop, void *argument)
{
	const struct path_request *r = argument;

	return delays_impair(loop->delays, r->way == WAY_FORWARD, r->lane, r->group,
			     &r->impairment);
}

static json_t *
change(struct commands *c, const struct json_place *place, const json_t *request,
       const struct json_field *fields, int (*run)(struct loop *loop, void *argument))
{
	struct path_request r = {0};
	json_t *answer = NULL;
	int error;

	if (json_fields_read(place, request, fields, &r) == 0) {
		error = mailbox_call(&dataplane_loop(c->dp, r.lane)->mailbox, run, &r);
		answer = error ? command_refuse(place, "%s", strerror(-error)) : command_done();
	}
	free(r.impairment.changes);
	free(r.impairment.jitter.points_ns);
	return answer;
}

json_t *
command_delay(struct commands *c, const struct json_place *place, const json_t *request)
{
	return change(c, place, request, delay_fields, run_delay);
}

json_t *
command_impair(struct commands *c, const struct json_place *place, const json_t *request)
{
	return change(c, place, request, impair_fields, run_impair);
}
