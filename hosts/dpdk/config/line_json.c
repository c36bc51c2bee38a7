/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "line_json.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shared.h"

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))
#define STATES_MAX 65536
#define OPPORTUNITIES_MAX 10000000u

static const struct json_field state_fields[] = {
	JSON_FIELD(struct line_state, "at_ns", at_ns, json_read_i64, .max = INT64_MAX / 4),
	JSON_FIELD(struct line_state, "rate_bps", rate_bps, json_read_i64, .max = RATE_BPS_MAX),
	JSON_FIELD(struct line_state, "limit", limit, json_read_i64, .min = 1, .max = LIMIT_MAX),
};

static const struct json_list state_list = {
	.items = "states",
	.fields = state_fields,
	.n_fields = LENGTH(state_fields),
	.item_bytes = sizeof(struct line_state),
	.count_offset = offsetof(struct line_plan, n_states),
	.allocate = true,
};

/* The times in a file, whose size says how many there are. */
static int
read_times(const struct json_place *place, FILE *file, struct line_plan *plan)
{
	long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
	size_t n = bytes < 0 ? 0 : (size_t)bytes / sizeof(uint64_t);

	rewind(file);
	if (n == 0 || n > OPPORTUNITIES_MAX)
		return json_place_error(place, "has %zu times; must have 1 to %u", n,
					OPPORTUNITIES_MAX);
	plan->opportunities_ns = calloc(n, sizeof(*plan->opportunities_ns));
	if (plan->opportunities_ns == NULL ||
	    fread(plan->opportunities_ns, sizeof(uint64_t), n, file) != n)
		return json_place_error(place, "cannot be read");
	for (size_t i = 0; i < n; i++)
		plan->opportunities_ns[i] = le64toh(plan->opportunities_ns[i]);
	plan->n_opportunities = n;
	return 0;
}

static int
read_opportunities(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target)
{
	const char *path = json_string_value(value);
	FILE *file = path == NULL ? NULL : fopen(path, "rbe");
	int error;

	(void)field;
	if (path == NULL)
		return json_place_error(place, "must be a file's path");
	if (file == NULL)
		return json_place_error(place, "%s: %s", path, strerror(errno));
	error = read_times(place, file, target);
	fclose(file);
	return error;
}

static const struct json_field schedule_fields[] = {
	JSON_FIELD(struct line_plan, "states", states, json_read_list, .min = 1, .max = STATES_MAX,
		   .list = &state_list, .optional = true),
	/* Its reader takes the whole plan. */
	{.name = "opportunities", .read = read_opportunities, .optional = true},
	JSON_FIELD(struct line_plan, "opportunity_bits", opportunity_bits, json_read_i64, .min = 1,
		   .max = UINT32_MAX, .optional = true),
	JSON_FIELD(struct line_plan, "period_ns", period_ns, json_read_i64, .max = INT64_MAX / 4,
		   .optional = true),
};

int
line_json_read_schedule(const struct json_place *place, const struct json_field *field,
			const json_t *value, void *target)
{
	struct json_place inner = json_place_inside(place);
	struct line_plan *plan = &((struct discipline_config *)target)->plan;

	(void)field;
	if (json_fields_read(&inner, value, schedule_fields, LENGTH(schedule_fields), plan) < 0)
		return -1;
	if (line_plan_is_empty(plan) || !line_plan_is_valid(plan))
		return json_place_error(place, "must have states or opportunities, their times in "
					       "order and before the period's end, and not "
					       "nothing to send");
	return 0;
}

static const struct json_field policer_fields[] = {
	JSON_FIELD(struct policer_config, "rate_bps", rate_bps, json_read_i64, .min = 1,
		   .max = RATE_BPS_MAX),
	JSON_FIELD(struct policer_config, "burst_bytes", burst_bytes, json_read_i64, .min = 1,
		   .max = POLICER_BURST_MAX),
};

int
line_json_read_policer(const struct json_place *place, const struct json_field *field,
		       const json_t *value, void *target)
{
	struct json_place inner = json_place_inside(place);

	(void)field;
	return json_fields_read(&inner, value, policer_fields, LENGTH(policer_fields),
				&((struct discipline_config *)target)->policer);
}

static json_t *
write_states(const struct line_plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->n_states; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "at_ns",
						      (json_int_t)plan->states[i].at_ns, "rate_bps",
						      (json_int_t)plan->states[i].rate_bps, "limit",
						      (json_int_t)plan->states[i].limit));
	return list;
}

void
line_json_write(const struct discipline_config *config, json_t *object)
{
	const struct line_plan *plan = &config->plan;

	if (!line_plan_is_empty(plan))
		json_object_set_new(object, "schedule",
				    json_pack("{s:o, s:I, s:I, s:I}", "states", write_states(plan),
					      "opportunities", (json_int_t)plan->n_opportunities,
					      "opportunity_bits",
					      (json_int_t)plan->opportunity_bits, "period_ns",
					      (json_int_t)plan->period_ns));
	if (config->policer.rate_bps > 0)
		json_object_set_new(object, "policer",
				    json_pack("{s:I, s:I}", "rate_bps",
					      (json_int_t)config->policer.rate_bps, "burst_bytes",
					      (json_int_t)config->policer.burst_bytes));
}
