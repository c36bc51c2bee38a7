/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "setup_json.h"

#include <stdio.h>
#include <string.h>

#include "core/aqm_load.h"
#include "core/disciplines.h"
#include "core/lane_config.h"
#include "core/policies.h"
#include "core/queues.h"

#define KEY_BYTES 48

/* A parameter's key: its name with its unit. */
static const char *
param_key(const struct aqm_param *param, char key[static KEY_BYTES])
{
	const char *unit = param->kind == AQM_TIME  ? "_ns" :
			   param->kind == AQM_BYTES ? "_bytes" :
						      "";

	snprintf(key, KEY_BYTES, "%s%s", param->name, unit);
	return key;
}

/* The name and the file of a discipline or a policy, NULL where there is none, and its seed. */
struct named {
	const char *name;
	const char *file;
	json_int_t seed;
};

static int
read_named(const json_t *value, struct named *named)
{
	return json_unpack((json_t *)(uintptr_t)value, "{s:s, s?s, s?I}", "name", &named->name,
			   "file", &named->file, "seed", &named->seed);
}

static bool
is_key_of_named(const char *key)
{
	return strcmp(key, "name") == 0 || strcmp(key, "file") == 0 || strcmp(key, "seed") == 0;
}

static int
read_param(const struct aqm_param *params, const char *key, const json_t *value, void *config)
{
	double number = json_is_true(value) ? 1 : json_number_value(value);
	char text[KEY_BYTES];

	for (; params->name != NULL; params++)
		if (strcmp(param_key(params, text), key) == 0)
			return (json_is_boolean(value) || json_is_number(value)) &&
					       json_is_boolean(value) ==
						       (params->kind == AQM_FLAG) &&
					       aqm_set(params, config, number) ?
				       0 :
				       -1;
	return -1;
}

/* The parameters beside the name; those that are left out have their defaults. */
static int
read_params(const struct json_place *place, const json_t *value, const struct aqm_param *params,
	    void *config)
{
	const char *key;
	json_t *each;

	aqm_defaults(params, config);
	json_object_foreach((json_t *)(uintptr_t)value, key, each) {
		struct json_place inner = json_place_of_key(place, key);

		if (!is_key_of_named(key) && read_param(params, key, each, config) < 0)
			return json_place_error(&inner, "no such parameter, or a bad value");
	}
	return 0;
}

static void
write_params(json_t *object, const struct aqm_param *params, const void *config)
{
	for (const struct aqm_param *p = params; p->name != NULL; p++) {
		double value = aqm_get(p, config);
		bool is_real = p->kind == AQM_PROBABILITY || p->kind == AQM_REAL;
		char key[KEY_BYTES];

		/* What has no value was left out, and is none. */
		if (value >= p->min)
			json_object_set_new(object, param_key(p, key),
					    p->kind == AQM_FLAG ? json_boolean(value != 0) :
					    is_real		? json_real(value) :
								  json_integer((json_int_t)value));
	}
}

static int
read_discipline(const struct json_place *place, const struct json_field *field, const json_t *value,
		void *target)
{
	struct aqm_setup *setup = target;
	char problem[256] = "unknown";
	struct named named = {0};

	if (read_named(value, &named) < 0)
		return -1;
	setup->seed = (uint64_t)named.seed;
	if (named.file == NULL && strcmp(named.name, droptail_ops.name) == 0)
		return 0;
	setup->ops = named.file != NULL ? aqm_load(named.file, problem, sizeof(problem)) :
					  aqm_find(named.name);
	if (setup->ops == NULL)
		return json_place_error(place, "%s: %s",
					named.file != NULL ? named.file : named.name, problem);
	return read_params(place, value, setup->ops->params, setup->config);
}

static json_t *
write_discipline(const struct json_field *field, const void *target)
{
	const struct aqm_setup *setup = target;
	json_t *object;

	if (setup->ops == NULL || setup->ops == &queues_ops)
		return NULL;
	object = json_pack("{s:s}", "name", setup->ops->name);
	write_params(object, setup->ops->params, setup->config);
	return object;
}

const struct json_kind as_aqm_setup = {read_discipline, write_discipline};

/* The limits of the static policy; those of queues that there are not are 0. */
static int
read_limits(const json_t *list, struct static_config *config)
{
	size_t n = json_array_size(list);

	if (n > QUEUES_MAX)
		return -1;
	memset(config, 0, sizeof(*config));
	for (size_t i = 0; i < n; i++)
		config->limits_bytes[i] = (uint64_t)json_integer_value(json_array_get(list, i));
	return 0;
}

static json_t *
write_limits(const struct static_config *config)
{
	json_t *limits = json_array();

	for (size_t i = 0; i < QUEUES_MAX && config->limits_bytes[i] > 0; i++)
		json_array_append_new(limits, json_integer((json_int_t)config->limits_bytes[i]));
	return limits;
}

static int
read_memory(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	struct memory_setup *setup = target;
	char problem[256] = "unknown";
	struct named named = {0};

	if (read_named(value, &named) < 0)
		return -1;
	setup->seed = (uint64_t)named.seed;
	setup->ops = named.file != NULL ? memory_load(named.file, problem, sizeof(problem)) :
					  memory_find(named.name);
	if (setup->ops == NULL)
		return json_place_error(place, "%s: %s",
					named.file != NULL ? named.file : named.name, problem);
	if (setup->ops == &static_ops)
		return read_limits(json_object_get(value, "limits_bytes"), (void *)setup->config);
	return read_params(place, value, setup->ops->params, setup->config);
}

static json_t *
write_memory(const struct json_field *field, const void *target)
{
	const struct memory_setup *setup = target;
	const struct memory_ops *ops = setup->ops == NULL ? &complete_sharing_ops : setup->ops;
	json_t *object = json_pack("{s:s}", "name", ops->name);

	write_params(object, ops->params, setup->config);
	if (ops == &static_ops)
		json_object_set_new(object, "limits_bytes",
				    write_limits((const void *)setup->config));
	return object;
}

const struct json_kind as_memory_setup = {read_memory, write_memory};
