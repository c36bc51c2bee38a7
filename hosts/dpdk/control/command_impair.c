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
	struct path_change *changes; /* the request's own, as the jitter's points are */
	size_t n_changes;
	struct impairment_settings settings;
};

#define SEED_FIELD(type) JSON_FIELD(type, "seed", seed, json_read_i64, .max = INT64_MAX)

static const struct json_field change_fields[] = {
	JSON_FIELD(struct path_change, "at_ns", at_ns, json_read_i64, .max = INT64_MAX / 2),
	JSON_FIELD(struct path_change, "delay_ns", delay_ns, json_read_i64, .max = PATH_NS_MAX),
	JSON_FIELD(struct path_change, "loss_ppb", loss_ppb, json_read_u32,
		   .max = LOSS_CERTAIN_PPB),
};

static const struct json_list change_list = {
	.items = "changes",
	.fields = change_fields,
	.n_fields = RTE_DIM(change_fields),
	.item_bytes = sizeof(struct path_change),
	.count_offset = offsetof(struct impair_request, n_changes),
	.allocate = true,
};

/* [ns, ...], which ascend. */
static int
read_points(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	struct jitter_settings *jitter = target;
	size_t n = json_array_size(value);
	uint64_t *points;

	(void)field;
	if (!json_is_array(value) || n < 2 || n > JITTER_POINTS_MAX)
		return json_place_error(place, "must be a list of 2 to %u times",
					JITTER_POINTS_MAX);
	points = calloc(n, sizeof(*points));
	if (points == NULL)
		return failure_set(place->failure, EXIT_STATUS_HOST, "out of memory");
	jitter->points_ns = points;
	jitter->n_points = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		struct json_place item = json_place_of_item(place, i);
		static const struct json_field time = {.max = PATH_NS_MAX};

		if (json_read_i64(&item, &time, json_array_get(value, i), &points[i]) < 0)
			return -1;
		if (i > 0 && points[i] < points[i - 1])
			return json_place_error(&item, "is less than the one before");
	}
	return 0;
}

static int
read_jitter(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	static const struct json_field fields[] = {
		{.name = "points_ns", .read = read_points},
		JSON_FIELD(struct jitter_settings, "every_ns", every_ns, json_read_i64,
			   .max = PATH_NS_MAX),
		SEED_FIELD(struct jitter_settings),
	};
	struct json_place inner = json_place_inside(place);

	(void)field;
	return json_fields_read(&inner, value, fields, RTE_DIM(fields), target);
}

static int
read_reorder(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct reorder_settings, "share_ppb", share_ppb, json_read_u32,
			   .max = LOSS_CERTAIN_PPB),
		JSON_FIELD(struct reorder_settings, "by_ns", by_ns, json_read_i64,
			   .max = PATH_NS_MAX),
		SEED_FIELD(struct reorder_settings),
	};
	struct json_place inner = json_place_inside(place);

	(void)field;
	return json_fields_read(&inner, value, fields, RTE_DIM(fields), target);
}

static int
read_gilbert(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct gilbert_settings, "p_ppb", p_ppb, json_read_u32,
			   .max = LOSS_CERTAIN_PPB),
		JSON_FIELD(struct gilbert_settings, "r_ppb", r_ppb, json_read_u32,
			   .max = LOSS_CERTAIN_PPB),
		JSON_FIELD(struct gilbert_settings, "loss_bad_ppb", loss_bad_ppb, json_read_u32,
			   .max = LOSS_CERTAIN_PPB),
		JSON_FIELD(struct gilbert_settings, "loss_good_ppb", loss_good_ppb, json_read_u32,
			   .max = LOSS_CERTAIN_PPB),
		SEED_FIELD(struct gilbert_settings),
	};
	struct json_place inner = json_place_inside(place);

	(void)field;
	((struct gilbert_settings *)target)->is_given = true;
	return json_fields_read(&inner, value, fields, RTE_DIM(fields), target);
}

static const struct json_field impair_fields[] = {
	JSON_FIELD(struct impair_request, "lane", lane, command_read_lane),
	JSON_FIELD(struct impair_request, "group", group, json_read_u32,
		   .max = GROUPS_PER_LANE - 1),
	JSON_FIELD(struct impair_request, "way", way, json_read_choice, .choices = ways),
	JSON_FIELD(struct impair_request, "changes", changes, json_read_list,
		   .max = PATH_CHANGES_MAX, .list = &change_list, .optional = true),
	JSON_FIELD(struct impair_request, "jitter", settings.jitter, read_jitter, .optional = true),
	JSON_FIELD(struct impair_request, "reorder", settings.reorder, read_reorder,
		   .optional = true),
	JSON_FIELD(struct impair_request, "gilbert", settings.gilbert, read_gilbert,
		   .optional = true),
};

static int
run_impair(struct loop *loop, void *argument)
{
	const struct impair_request *r = argument;

	return delays_impair(loop->dp->role->delays(loop), r->way == WAY_FORWARD, r->lane, r->group,
			     &r->settings);
}

static json_t *
impair(struct commands *c, const struct json_place *place, const json_t *request,
       struct impair_request *r)
{
	int error;

	if (json_fields_read(place, request, impair_fields, RTE_DIM(impair_fields), r) < 0)
		return NULL;
	r->settings.changes = r->changes;
	r->settings.n_changes = (uint32_t)r->n_changes;
	error = mailbox_call(&dataplane_loop(c->dp, r->lane)->mailbox, run_impair, r);
	if (error == -EINVAL)
		return command_refuse(place,
				      "lane %u, group %u: set its delay first, and changes "
				      "in the order of their times",
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

	free(r.changes);
	free((void *)(uintptr_t)r.settings.jitter.points_ns);
	return answer;
}
