/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "params_json.h"

#include <stdio.h>

#include "core/disciplines.h"

#define KEY_BYTES 48
#define NAMED_FIELDS 3u /* name, file, seed */

static void
param_key(const struct aqm_param *param, char *key)
{
	const char *unit = param->kind == AQM_TIME  ? "_ns" :
			   param->kind == AQM_BYTES ? "_bytes" :
						      "";

	snprintf(key, KEY_BYTES, "%s%s", param->name, unit);
}

static int
not_of_the_kind(const struct json_place *place, const struct aqm_param *param, const json_t *value)
{
	const char *const expected = param->kind == AQM_FLAG ? "true or false" :
				     param->kind == AQM_PROBABILITY || param->kind == AQM_REAL ?
							       "a number" :
							       "an integer";

	return json_place_error(place, "must be %s, not %s", expected, json_type_name(value));
}

static bool
is_of_the_kind(const struct aqm_param *param, const json_t *value)
{
	if (param->kind == AQM_FLAG)
		return json_is_boolean(value);
	if (param->kind == AQM_PROBABILITY || param->kind == AQM_REAL)
		return json_is_number(value);
	return json_is_integer(value);
}

static int
read_param(const struct json_place *place, const struct json_field *field, const json_t *value,
	   void *config)
{
	const struct aqm_param *param = (const struct aqm_param *)place->context + field->min;
	double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);

	if (!is_of_the_kind(param, value))
		return not_of_the_kind(place, param, value);
	if (!aqm_set(param, config, number))
		return json_place_error(place, "%.12g is outside %.12g..%.12g", number, param->min,
					param->max);
	return 0;
}

int
params_json_read_named(const struct json_place *place, const json_t *value, struct named *named)
{
	static const struct json_field fields[NAMED_FIELDS] = {
		JSON_FIELD(struct named, "name", name, json_read_text, .max = NAMED_BYTES),
		JSON_FIELD(struct named, "file", file, json_read_text, .max = NAMED_PATH_BYTES,
			   .optional = true),
		JSON_FIELD(struct named, "seed", seed, json_read_i64, .max = INT64_MAX,
			   .optional = true),
	};
	json_t *alone;
	int error;

	if (!json_is_object(value))
		return json_place_error(place, "must be an object, not %s", json_type_name(value));
	alone = json_object();
	for (uint32_t i = 0; i < NAMED_FIELDS; i++)
		if (json_object_get(value, fields[i].name) != NULL)
			json_object_set(alone, fields[i].name,
					json_object_get(value, fields[i].name));
	error = json_fields_read(place, alone, fields, NAMED_FIELDS, named);
	json_decref(alone);
	return error;
}

int
params_json_skip(const struct json_place *place, const struct json_field *field,
		 const json_t *value, void *target)
{
	(void)place;
	(void)field;
	(void)value;
	(void)target;
	return 0;
}

/* The name again, so that the list of what is allowed has it, and the parameters. */
int
params_json_read(const struct json_place *place, const json_t *value,
		 const struct aqm_param *params, void *config)
{
	struct json_field fields[NAMED_FIELDS + AQM_PARAMS_MAX] = {
		{.name = "name", .read = params_json_skip},
		{.name = "file", .read = params_json_skip, .optional = true},
		{.name = "seed", .read = params_json_skip, .optional = true},
	};
	char keys[AQM_PARAMS_MAX][KEY_BYTES];
	struct json_place inner = *place;
	uint32_t n = NAMED_FIELDS;

	inner.context = params;
	for (uint32_t i = 0; i < AQM_PARAMS_MAX && params[i].name != NULL; i++) {
		param_key(&params[i], keys[i]);
		fields[n++] = (struct json_field){
			.name = keys[i], .read = read_param, .min = i, .optional = true};
	}
	return json_fields_read(&inner, value, fields, n, config);
}

static json_t *
param_json(const struct aqm_param *param, const void *config)
{
	double value = aqm_get(param, config);

	if (param->kind == AQM_FLAG)
		return json_boolean(value != 0);
	if (param->kind == AQM_PROBABILITY || param->kind == AQM_REAL)
		return json_real(value);
	return json_integer((json_int_t)value);
}

void
params_json_write(json_t *object, const struct aqm_param *params, const void *config)
{
	for (const struct aqm_param *p = params; p->name != NULL; p++) {
		char key[KEY_BYTES];

		param_key(p, key);
		/* What has no value was left out, and is none. */
		if (aqm_get(p, config) >= p->min)
			json_object_set_new(object, key, param_json(p, config));
	}
}
