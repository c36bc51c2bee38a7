/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "lane_json.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shared.h"
#include "core/line.h"
#include "core/line_schedule.h"
#include "core/policies.h"
#include "core/queues.h"
#include "setup_json.h"

#define OPPORTUNITIES_MAX 10000000u

/* The times in a file, whose size says how many there are. */
static int
read_times(FILE *file, struct opportunities *times)
{
	long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
	size_t n = bytes < 0 ? 0 : (size_t)bytes / sizeof(uint64_t);

	rewind(file);
	if (n == 0 || n > OPPORTUNITIES_MAX)
		return -1;
	times->ns = calloc(n, sizeof(*times->ns));
	if (times->ns == NULL || fread(times->ns, sizeof(uint64_t), n, file) != n)
		return -1;
	for (size_t i = 0; i < n; i++)
		times->ns[i] = le64toh(times->ns[i]);
	times->n = n;
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
	return json_integer((json_int_t)((const struct opportunities *)target)->n);
}

static const struct json_kind as_opportunities = {read_opportunities, write_opportunities};

static int
check_limit_config(const struct json_place *place, void *structure)
{
	const struct limit_config *limit = structure;

	return limit->unit == UNIT_CELLS && limit->cell_bytes == 0 ? -1 : 0;
}

static int
check_line_plan(const struct json_place *place, void *structure)
{
	return line_plan_is_empty(structure) || !line_plan_is_valid(structure) ? -1 : 0;
}

#include "core/lane_tables.h"

/* What was left out of a discipline is computed; what is wrong with it is for people. */
static int
check_discipline(const struct json_place *place, struct aqm_setup *setup,
		 const struct aqm_line *line)
{
	const char *wrong = setup->ops == NULL || setup->ops->check == NULL ?
				    NULL :
				    setup->ops->check(setup->config, line);

	return wrong == NULL ? 0 : json_place_error(place, "%s: %s", setup->ops->name, wrong);
}

static int
check_queue(const struct json_place *place, struct queues_config *queues, uint32_t number,
	    const struct aqm_line *line)
{
	struct queue_config *q = &queues->queues[number];
	struct aqm_line own;

	if (q->weight == 0)
		q->weight = 1;
	if (q->discipline.seed == 0)
		q->discipline.seed = queues_seed(queues->seed, number);
	queues_line(queues, number, line, &own);
	return check_discipline(place, &q->discipline, &own);
}

/* One limit of each queue and no more, where the policy is `static`. */
static bool
has_limits(const struct queues_config *queues)
{
	const struct static_config *config = (const void *)queues->memory.config;

	for (size_t i = 0; queues->memory.ops == &static_ops && i < QUEUES_MAX; i++)
		if ((config->limits_bytes[i] > 0) != (i < queues->n_queues) ||
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
	if (config->queues.n_queues == 0)
		return check_discipline(place, &config->discipline, &line);
	if (config->limit.unit != UNIT_BYTES || config->arrive_as != ARRIVE_AS_FRAMES ||
	    config->discipline.ops != NULL)
		return json_place_error(&inner, "need a limit in bytes, frames one by one, and no "
						"discipline beside them");
	config->discipline.ops = &queues_ops;
	for (uint32_t i = 0; i < config->queues.n_queues; i++)
		if (check_queue(&inner, &config->queues, i, &line) < 0)
			return -1;
	return check_memory(&inner, &config->queues, &line);
}
