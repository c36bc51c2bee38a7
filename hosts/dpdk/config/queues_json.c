/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "queues_json.h"

#include <stdio.h>
#include <string.h>

#include "aqm_json.h"
#include "common/shared.h"
#include "core/aqm_load.h"
#include "core/disciplines.h"
#include "core/line.h"
#include "core/policies.h"
#include "params_json.h"

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

static const char *const scheduler_names[] = {
	[SCHEDULER_DRR] = "drr",
	[SCHEDULER_STRICT_PRIORITY] = "strict_priority",
	NULL,
};

/* A queue, and what is read when it is known which line it has. */
struct queue_request {
	uint64_t limit_bytes;
	uint32_t weight;
	const json_t *discipline; /* NULL: left out */
};

struct request {
	uint64_t seed;
	enum scheduler scheduler;
	const json_t *memory; /* NULL: left out */
	size_t n;
	struct queue_request queues[QUEUES_MAX];
};

/* For later: the value itself. */
static int
keep(const struct json_place *place, const struct json_field *field, const json_t *value,
     void *target)
{
	(void)place;
	(void)field;
	*(const json_t **)target = value;
	return 0;
}

static const struct json_field queue_fields[] = {
	JSON_FIELD(struct queue_request, "limit_bytes", limit_bytes, json_read_i64,
		   .max = LIMIT_MAX, .optional = true),
	JSON_FIELD(struct queue_request, "weight", weight, json_read_u32, .min = 1,
		   .max = QUEUES_WEIGHT_MAX, .optional = true),
	JSON_FIELD(struct queue_request, "discipline", discipline, keep, .optional = true),
};

static const struct json_list queue_list = {
	.items = "queues",
	.fields = queue_fields,
	.n_fields = LENGTH(queue_fields),
	.item_bytes = sizeof(struct queue_request),
	.count_offset = offsetof(struct request, n),
};

static const struct json_field fields[] = {
	JSON_FIELD(struct request, "scheduler", scheduler, json_read_choice,
		   .choices = scheduler_names, .optional = true),
	JSON_FIELD(struct request, "memory", memory, keep, .optional = true),
	JSON_FIELD(struct request, "queues", queues, json_read_list, .min = QUEUES_MIN,
		   .max = QUEUES_MAX, .list = &queue_list),
	JSON_FIELD(struct request, "seed", seed, json_read_i64, .max = INT64_MAX, .optional = true),
};

/* Several queues share bytes, and frames come to them one by one. */
static int
check_lane(const struct json_place *place, const struct discipline_config *config)
{
	if (config->unit != LIMIT_BYTES)
		return json_place_error(place, "several queues need a limit in bytes");
	if (config->arrivals != ARRIVALS_FRAMES)
		return json_place_error(place,
					"several queues take frames one by one, not as trains");
	if (config->aqm.ops != NULL)
		return json_place_error(
			place,
			"each queue has a discipline of its own: leave out the lane's 'discipline'");
	return 0;
}

static int
read_queue(const struct json_place *place, const struct request *r, uint32_t number,
	   const struct aqm_line *line, struct queues_config *queues)
{
	struct json_place of_list = json_place_of_key(place, "queues");
	struct json_place inner = json_place_of_item(&of_list, number);
	const struct queue_request *given = &r->queues[number];
	struct queue_config *queue = &queues->queues[number];
	struct aqm_line own;

	queue->limit_bytes = given->limit_bytes;
	queue->weight = given->weight;
	queue->aqm.seed = queues_seed(r->seed, number);
	inner.key = "weight";
	if (r->scheduler == SCHEDULER_STRICT_PRIORITY && given->weight != 1)
		return json_place_error(&inner, "strict_priority has no weights: leave it out");
	if (given->discipline == NULL)
		return 0;
	queues_line(queues, number, line, &own);
	inner.key = "discipline";
	return aqm_json_read_setup(&inner, given->discipline, &own, &queue->aqm);
}

static int
read_limits(const struct json_place *place, const json_t *value, size_t n, uint64_t *limits)
{
	static const struct json_field limit = {.name = "", .min = 1, .max = LIMIT_MAX};
	const json_t *list = json_object_get(value, "limits_bytes");
	struct json_place of_list = json_place_of_key(place, "limits_bytes");

	if (!json_is_array(list) || json_array_size(list) != n)
		return json_place_error(&of_list, "must be a list of %zu limits, one of each queue",
					n);
	for (size_t i = 0; i < n; i++) {
		struct json_place inner = json_place_of_item(&of_list, i);

		if (json_read_i64(&inner, &limit, json_array_get(list, i), &limits[i]) < 0)
			return -1;
	}
	return 0;
}

/* The parameters of the static policy are a list. */
static int
read_static(const struct json_place *place, const json_t *value, size_t n,
	    struct memory_setup *setup)
{
	static const struct json_field static_fields[] = {
		{.name = "name", .read = params_json_skip},
		{.name = "limits_bytes", .read = params_json_skip},
	};
	struct static_config *config = (struct static_config *)setup->config;

	if (json_fields_read(place, value, static_fields, LENGTH(static_fields), NULL) < 0)
		return -1;
	return read_limits(place, value, n, config->limits_bytes);
}

static int
unknown_policy(const struct json_place *place, const char *name)
{
	char known[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; memory_policies[i] != NULL && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 i > 0 ? ", " : "", memory_policies[i]->name);
	return json_place_error(place, "unknown policy '%s' (one of %s)", name, known);
}

/* By its file, or by its name among ours. */
static int
choose(const struct json_place *place, const struct named *named, const struct memory_ops **ops)
{
	struct json_place of_file = json_place_of_key(place, "file");
	struct json_place of_name = json_place_of_key(place, "name");
	char problem[256];

	if (named->file[0] == '\0') {
		*ops = memory_find(named->name);
		return *ops == NULL ? unknown_policy(&of_name, named->name) : 0;
	}
	*ops = memory_load(named->file, problem, sizeof(problem));
	return *ops == NULL ? json_place_error(&of_file, "%s: %s", named->file, problem) : 0;
}

static int
read_memory(const struct json_place *place, const struct request *r, const struct aqm_line *line,
	    struct queues_config *queues)
{
	struct json_place of_memory = json_place_of_key(place, "memory");
	struct json_place inner = json_place_inside(&of_memory);
	struct named named = {.seed = queues_seed(r->seed, QUEUES_MAX)};
	struct memory_setup *setup = &queues->memory;
	struct memory memory;
	const char *wrong;

	if (r->memory == NULL)
		return 0;
	if (params_json_read_named(&inner, r->memory, &named) < 0 ||
	    choose(&inner, &named, &setup->ops) < 0)
		return -1;
	setup->seed = named.seed;
	aqm_defaults(setup->ops->params, setup->config);
	if (setup->ops == &static_ops)
		return read_static(&inner, r->memory, queues->n, setup);
	if (params_json_read(&inner, r->memory, setup->ops->params, setup->config) < 0)
		return -1;
	queues_memory(queues, line, &memory);
	wrong = setup->ops->check == NULL ? NULL : setup->ops->check(setup->config, &memory);
	return wrong == NULL ? 0 : json_place_error(&inner, "%s", wrong);
}

int
queues_json_read(const struct json_place *place, const struct json_field *field,
		 const json_t *value, void *target)
{
	struct json_place inner = json_place_inside(place);
	struct discipline_config *config = target;
	struct request r = {.seed = 0};
	struct aqm_line line = {0};

	(void)field;
	for (uint32_t i = 0; i < QUEUES_MAX; i++)
		r.queues[i].weight = 1;
	if (check_lane(place, config) < 0 ||
	    json_fields_read(&inner, value, fields, LENGTH(fields), &r) < 0)
		return -1;
	line_describe(config, &line);
	config->aqm.ops = &queues_ops;
	config->queues = (struct queues_config){.n = r.n, .seed = r.seed, .scheduler = r.scheduler};
	for (uint32_t i = 0; i < r.n; i++)
		if (read_queue(&inner, &r, i, &line, &config->queues) < 0)
			return -1;
	return read_memory(&inner, &r, &line, &config->queues);
}

static json_t *
queue_json(const struct queue_config *queue)
{
	json_t *object = json_pack("{s:I, s:I}", "limit_bytes", (json_int_t)queue->limit_bytes,
				   "weight", (json_int_t)queue->weight);

	if (queue->aqm.ops != NULL)
		json_object_set_new(object, "discipline", aqm_json_write(&queue->aqm));
	return object;
}

static json_t *
memory_json(const struct queues_config *config)
{
	const struct memory_ops *ops = config->memory.ops;
	const struct static_config *given = (const void *)config->memory.config;
	json_t *object, *limits;

	if (ops == NULL)
		ops = &complete_sharing_ops;
	object = json_pack("{s:s}", "name", ops->name);
	params_json_write(object, ops->params, config->memory.config);
	if (ops != &static_ops)
		return object;
	limits = json_array();
	for (uint32_t i = 0; i < config->n; i++)
		json_array_append_new(limits, json_integer((json_int_t)given->limits_bytes[i]));
	json_object_set_new(object, "limits_bytes", limits);
	return object;
}

json_t *
queues_json_write(const struct queues_config *config)
{
	json_t *queues = json_array();

	for (uint32_t i = 0; i < config->n; i++)
		json_array_append_new(queues, queue_json(&config->queues[i]));
	return json_pack("{s:s, s:o, s:o, s:I}", "scheduler", scheduler_names[config->scheduler],
			 "memory", memory_json(config), "queues", queues, "seed",
			 (json_int_t)config->seed);
}
