/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "lane_json.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shared.h"
#include "core/line.h"
#include "core/policies.h"
#include "setup_json.h"

#define STATES_MAX 65536
#define OPPORTUNITIES_MAX 10000000u
#define PERIOD_NS_MAX (INT64_MAX / 4)

static const char *const unit_names[] = {"bytes", "packets", "cells", NULL};
static const char *const arrivals_names[] = {"frames", "trains", NULL};
static const char *const limit_counts_names[] = {"system", "queue", NULL};
static const char *const scheduler_names[] = {"drr", "strict_priority", NULL};

static const struct json_field limit_fields[] = {
	JSON_FIELD(struct lane_config, "unit", unit, as_choice, .choices = unit_names),
	JSON_FIELD(struct lane_config, "value", limit, as_number, .min = 1, .max = LIMIT_MAX),
	JSON_FIELD(struct lane_config, "cell_bytes", cell_bytes, as_number, .max = CELL_BYTES_MAX,
		   .optional = true),
	{0},
};

static int
check_limit(const struct json_place *place, void *structure)
{
	const struct lane_config *config = structure;

	return config->unit == LIMIT_CELLS && config->cell_bytes == 0 ? -1 : 0;
}

static const struct json_field queue_fields[] = {
	JSON_FIELD(struct queue_config, "limit_bytes", limit_bytes, as_number, .max = LIMIT_MAX,
		   .optional = true),
	JSON_FIELD(struct queue_config, "weight", weight, as_number, .min = 1,
		   .max = QUEUES_WEIGHT_MAX, .optional = true),
	JSON_FIELD(struct queue_config, "discipline", aqm, as_discipline, .optional = true),
	{0},
};

static const struct json_field queue_item = JSON_ITEM(struct queue_config, queue_fields);

static const struct json_field queues_fields[] = {
	JSON_FIELD(struct queues_config, "scheduler", scheduler, as_choice,
		   .choices = scheduler_names, .optional = true),
	JSON_FIELD(struct queues_config, "memory", memory, as_memory, .optional = true),
	JSON_LIST(struct queues_config, "queues", queues, n, queue_item, .min = QUEUES_MIN,
		  .max = QUEUES_MAX),
	JSON_FIELD(struct queues_config, "seed", seed, as_number, .optional = true),
	{0},
};

static const struct json_field state_fields[] = {
	JSON_FIELD(struct line_state, "at_ns", at_ns, as_number, .max = PERIOD_NS_MAX),
	JSON_FIELD(struct line_state, "rate_bps", rate_bps, as_number, .max = RATE_BPS_MAX),
	JSON_FIELD(struct line_state, "limit", limit, as_number, .min = 1, .max = LIMIT_MAX),
	{0},
};

static const struct json_field state_item = JSON_ITEM(struct line_state, state_fields);

/* The times in a file, whose size says how many there are. */
static int
read_times(FILE *file, struct line_plan *plan)
{
	long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
	size_t n = bytes < 0 ? 0 : (size_t)bytes / sizeof(uint64_t);

	rewind(file);
	if (n == 0 || n > OPPORTUNITIES_MAX)
		return -1;
	plan->opportunities_ns = calloc(n, sizeof(*plan->opportunities_ns));
	if (plan->opportunities_ns == NULL ||
	    fread(plan->opportunities_ns, sizeof(uint64_t), n, file) != n)
		return -1;
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

	if (path == NULL)
		return -1;
	if (file == NULL)
		return json_place_error(place, "%s: %s", path, strerror(errno));
	error = read_times(file, target);
	fclose(file);
	return error;
}

static json_t *
write_opportunities(const struct json_field *field, const void *target)
{
	return json_integer((json_int_t)((const struct line_plan *)target)->n_opportunities);
}

static const struct json_kind as_opportunities = {read_opportunities, write_opportunities};

static const struct json_field schedule_fields[] = {
	JSON_LIST(struct line_plan, "states", states, n_states, state_item, .min = 1,
		  .max = STATES_MAX, .allocate = true, .optional = true),
	/* The whole plan is the target. */
	{.name = "opportunities", .kind = &as_opportunities, .optional = true},
	JSON_FIELD(struct line_plan, "opportunity_bits", opportunity_bits, as_number, .min = 1,
		   .max = UINT32_MAX, .optional = true),
	JSON_FIELD(struct line_plan, "period_ns", period_ns, as_number, .max = PERIOD_NS_MAX,
		   .optional = true),
	{0},
};

static int
check_schedule(const struct json_place *place, void *structure)
{
	return line_plan_is_empty(structure) || !line_plan_is_valid(structure) ? -1 : 0;
}

static const struct json_field policer_fields[] = {
	JSON_FIELD(struct policer_config, "rate_bps", rate_bps, as_number, .min = 1,
		   .max = RATE_BPS_MAX),
	JSON_FIELD(struct policer_config, "burst_bytes", burst_bytes, as_number, .min = 1,
		   .max = POLICER_BURST_MAX),
	{0},
};

#define FIELD(key, member, how, ...) JSON_FIELD(struct lane_config, key, member, how, ##__VA_ARGS__)

const struct json_field lane_return_fields[] = {
	FIELD("rate_bps", rate_bps, as_number, .min = 1, .max = RATE_BPS_MAX),
	/* The whole configuration is the target. */
	{.name = "limit", .kind = &as_object, .fields = limit_fields, .check = check_limit},
	FIELD("overhead_bytes", overhead_bytes, as_number, .max = OVERHEAD_BYTES_MAX,
	      .optional = true),
	{0},
};

const struct json_field lane_fields[] = {
	{.kind = &as_object, .fields = lane_return_fields},
	FIELD("arrivals", arrivals, as_choice, .choices = arrivals_names, .optional = true),
	FIELD("limit_counts", counts, as_choice, .choices = limit_counts_names, .optional = true),
	FIELD("discipline", aqm, as_discipline, .optional = true),
	FIELD("queues", queues, as_object, .fields = queues_fields, .optional = true,
	      .unless_zero = true),
	FIELD("schedule", plan, as_object, .fields = schedule_fields, .check = check_schedule,
	      .optional = true, .unless_zero = true),
	FIELD("policer", policer, as_object, .fields = policer_fields, .optional = true,
	      .unless_zero = true),
	{0},
};

/* What was left out of a discipline is computed; what is wrong with it is for people. */
static int
check_discipline(const struct json_place *place, struct aqm_setup *setup,
		 const struct aqm_line *line)
{
	const char *wrong = setup->ops == NULL || setup->ops->check == NULL ?
				    NULL :
				    setup->ops->check(setup->config, line);

	return wrong == NULL ? 0 : json_place_error(place, "discipline: %s", wrong);
}

static int
check_queue(const struct json_place *place, struct queues_config *queues, uint32_t number,
	    const struct aqm_line *line)
{
	struct queue_config *q = &queues->queues[number];
	struct aqm_line own;

	if (q->weight == 0)
		q->weight = 1;
	if (q->aqm.seed == 0)
		q->aqm.seed = queues_seed(queues->seed, number);
	queues_line(queues, number, line, &own);
	return check_discipline(place, &q->aqm, &own);
}

/* One limit of each queue and no more, where the policy is `static`. */
static bool
has_limits(const struct queues_config *queues)
{
	const struct static_config *config = (const void *)queues->memory.config;

	for (size_t i = 0; queues->memory.ops == &static_ops && i < QUEUES_MAX; i++)
		if ((config->limits_bytes[i] > 0) != (i < queues->n) ||
		    config->limits_bytes[i] > LIMIT_MAX)
			return false;
	return true;
}

static int
check_memory(const struct json_place *place, struct queues_config *queues,
	     const struct aqm_line *line)
{
	struct memory_setup *setup = &queues->memory;
	struct memory memory;
	const char *wrong = NULL;

	if (setup->ops == NULL)
		return 0;
	if (setup->seed == 0)
		setup->seed = queues_seed(queues->seed, QUEUES_MAX);
	queues_memory(queues, line, &memory);
	if (!has_limits(queues))
		wrong = "limits_bytes must be a list of one limit of each queue";
	else if (setup->ops->check != NULL)
		wrong = setup->ops->check(setup->config, &memory);
	return wrong == NULL ? 0 : json_place_error(place, "memory: %s", wrong);
}

/* Several queues share bytes, and frames come to them one by one. */
int
lane_check(const struct json_place *place, void *structure)
{
	struct lane_config *config = structure;
	struct json_place inner = json_place_of_key(place, "queues");
	struct aqm_line line = {0};

	line_describe(config, &line);
	if (config->queues.n == 0)
		return check_discipline(place, &config->aqm, &line);
	if (config->unit != LIMIT_BYTES || config->arrivals != ARRIVALS_FRAMES ||
	    config->aqm.ops != NULL)
		return json_place_error(&inner, "need a limit in bytes, frames one by one, and no "
						"discipline beside them");
	config->aqm.ops = &queues_ops;
	for (uint32_t i = 0; i < config->queues.n; i++)
		if (check_queue(&inner, &config->queues, i, &line) < 0)
			return -1;
	return check_memory(&inner, &config->queues, &line);
}
