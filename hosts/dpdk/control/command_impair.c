/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What one way of a flow group's path does to its packets besides a constant delay. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/nanoseconds.h"

#define PATH_NS_MAX (60 * SECOND_NS)

static const char *const ways[] = {"forward", "return", NULL};

enum way {
	WAY_FORWARD,
	WAY_RETURN,
};

struct impair_request {
	uint32_t lane;
	uint32_t group;
	enum way way;
	struct impairment_settings settings; /* its lists are the request's own */
};

#define SEED_FIELD(type) JSON_FIELD(type, "seed", seed, as_number)
#define SHARE_FIELD(type, member)                                                                  \
	JSON_FIELD(type, #member, member, as_number, .max = LOSS_CERTAIN_PPB)

static const struct json_field change_fields[] = {
	JSON_FIELD(struct path_change, "at_ns", at_ns, as_number, .max = INT64_MAX / 2),
	JSON_FIELD(struct path_change, "delay_ns", delay_ns, as_number, .max = PATH_NS_MAX),
	SHARE_FIELD(struct path_change, loss_ppb),
	JSON_FIELD(struct path_change, "retry_ppb", retry_ppb, as_number, .max = LOSS_CERTAIN_PPB,
		   .optional = true),
	{0},
};

static const struct json_field change_item = JSON_ITEM(struct path_change, change_fields);
static const struct json_field point_item = {
	.kind = &as_number, .bytes = sizeof(uint64_t), .max = PATH_NS_MAX};

static const struct json_field jitter_fields[] = {
	JSON_LIST(struct jitter_settings, "points_ns", points_ns, n_points, point_item, .min = 2,
		  .max = JITTER_POINTS_MAX, .allocate = true, .optional = true),
	JSON_FIELD(struct jitter_settings, "retry_ppb", retry_ppb, as_number,
		   .max = LOSS_CERTAIN_PPB, .optional = true),
	JSON_FIELD(struct jitter_settings, "every_ns", every_ns, as_number, .max = PATH_NS_MAX),
	SEED_FIELD(struct jitter_settings),
	{0},
};

/* Jitter without points is that of Wi-Fi. */
static int
give_wifi(const struct json_place *place, void *settings)
{
	struct jitter_settings *jitter = settings;

	jitter->is_wifi = jitter->n_points == 0;
	return 0;
}

static const struct json_field reorder_fields[] = {
	SHARE_FIELD(struct reorder_settings, share_ppb),
	JSON_FIELD(struct reorder_settings, "by_ns", by_ns, as_number, .max = PATH_NS_MAX),
	SEED_FIELD(struct reorder_settings),
	{0},
};

static const struct json_field gilbert_fields[] = {
	SHARE_FIELD(struct gilbert_settings, p_ppb),
	SHARE_FIELD(struct gilbert_settings, r_ppb),
	SHARE_FIELD(struct gilbert_settings, loss_bad_ppb),
	SHARE_FIELD(struct gilbert_settings, loss_good_ppb),
	SEED_FIELD(struct gilbert_settings),
	{0},
};

static int
give_gilbert(const struct json_place *place, void *settings)
{
	((struct gilbert_settings *)settings)->is_given = true;
	return 0;
}

#define FIELD(key, member, how, ...)                                                               \
	JSON_FIELD(struct impair_request, key, member, how, ##__VA_ARGS__)

static const struct json_field impair_fields[] = {
	FIELD("lane", lane, as_lane),
	FIELD("group", group, as_number, .max = GROUPS_PER_LANE - 1),
	FIELD("way", way, as_choice, .choices = ways),
	JSON_LIST(struct impair_request, "changes", settings.changes, settings.n_changes,
		  change_item, .max = PATH_CHANGES_MAX, .allocate = true, .optional = true),
	FIELD("jitter", settings.jitter, as_object, .fields = jitter_fields, .check = give_wifi,
	      .optional = true),
	FIELD("reorder", settings.reorder, as_object, .fields = reorder_fields, .optional = true),
	FIELD("gilbert", settings.gilbert, as_object, .fields = gilbert_fields,
	      .check = give_gilbert, .optional = true),
	{0},
};

static int
run_impair(struct loop *loop, void *argument)
{
	const struct impair_request *r = argument;

	return delays_impair(loop->delays, r->way == WAY_FORWARD, r->lane, r->group, &r->settings);
}

static json_t *
impair(struct commands *c, const struct json_place *place, const json_t *request,
       struct impair_request *r)
{
	int error;

	if (json_fields_read(place, request, impair_fields, r) < 0)
		return NULL;
	error = mailbox_call(&dataplane_loop(c->dp, r->lane)->mailbox, run_impair, r);
	if (error == -EINVAL)
		return command_refuse(place,
				      "lane %u, group %u: set its delay first, and changes "
				      "and points in the order of their times",
				      r->lane, r->group);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	return command_done();
}

json_t *
command_impair(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct impair_request r = {0};
	json_t *answer = impair(c, place, request, &r);

	free((void *)(uintptr_t)r.settings.changes);
	free((void *)(uintptr_t)r.settings.jitter.points_ns);
	return answer;
}
