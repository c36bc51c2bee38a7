/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "aqm_json.h"

#include <stdio.h>
#include <string.h>

#include "core/aqm_load.h"
#include "core/line.h"

#define KEY_BYTES 48
#define PATH_BYTES_MAX 4096
#define NAME_BYTES_MAX 32
#define FIXED_FIELDS 3u /* name, file, seed */

/* What names a discipline, and the keys of its parameters. */
struct request {
	char name[NAME_BYTES_MAX];
	char file[PATH_BYTES_MAX];
	uint64_t seed;
	struct json_field fields[FIXED_FIELDS + AQM_PARAMS_MAX];
	char keys[AQM_PARAMS_MAX][KEY_BYTES];
};

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
	const struct aqm_ops *aqm = place->context;
	const struct aqm_param *param = &aqm->params[field->min];
	double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);

	if (!is_of_the_kind(param, value))
		return not_of_the_kind(place, param, value);
	if (!aqm_set(param, config, number))
		return json_place_error(place, "%.12g is outside %.12g..%.12g", number, param->min,
					param->max);
	return 0;
}

/* Of the name, the file and the seed, whatever else there is. */
static int
read_fixed(const struct json_place *place, const json_t *value, struct request *r)
{
	static const struct json_field fields[FIXED_FIELDS] = {
		JSON_FIELD(struct request, "name", name, json_read_text, .max = NAME_BYTES_MAX),
		JSON_FIELD(struct request, "file", file, json_read_text, .max = PATH_BYTES_MAX,
			   .optional = true),
		JSON_FIELD(struct request, "seed", seed, json_read_i64, .max = INT64_MAX,
			   .optional = true),
	};
	json_t *fixed = json_object();
	int error;

	if (!json_is_object(value)) {
		json_decref(fixed);
		return json_place_error(place, "must be an object, not %s", json_type_name(value));
	}
	for (uint32_t i = 0; i < FIXED_FIELDS; i++)
		if (json_object_get(value, fields[i].name) != NULL)
			json_object_set(fixed, fields[i].name,
					json_object_get(value, fields[i].name));
	error = json_fields_read(place, fixed, fields, FIXED_FIELDS, r);
	json_decref(fixed);
	return error;
}

static int
unknown_name(const struct json_place *place, const char *name)
{
	char known[256] = "droptail";
	size_t used = strlen(known);

	for (uint32_t i = 0; aqm_disciplines[i] != NULL && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, ", %s",
					 aqm_disciplines[i]->name);
	return json_place_error(place, "unknown discipline '%s' (one of %s)", name, known);
}

static int
skip(const struct json_place *place, const struct json_field *field, const json_t *value,
     void *target)
{
	(void)place;
	(void)field;
	(void)value;
	(void)target;
	return 0;
}

/* The name again, so that the list of what is allowed has it, and the parameters. */
static int
read_params(const struct json_place *place, const json_t *value, struct request *r,
	    const struct aqm_ops *aqm, void *config)
{
	struct json_place inner = *place;
	uint32_t n = 0;

	inner.context = aqm;
	r->fields[n++] = (struct json_field){.name = "name", .read = skip};
	r->fields[n++] = (struct json_field){.name = "file", .read = skip, .optional = true};
	r->fields[n++] = (struct json_field){.name = "seed", .read = skip, .optional = true};
	for (uint32_t i = 0; i < AQM_PARAMS_MAX && aqm->params[i].name != NULL; i++) {
		param_key(&aqm->params[i], r->keys[i]);
		r->fields[n++] = (struct json_field){
			.name = r->keys[i], .read = read_param, .min = i, .optional = true};
	}
	return json_fields_read(&inner, value, r->fields, n, config);
}

static int
read_aqm(const struct json_place *place, const json_t *value, struct request *r,
	 struct discipline_config *config)
{
	struct aqm_line line = {0};
	const char *wrong;

	config->seed = r->seed;
	aqm_defaults(config->aqm, config->aqm_config);
	if (read_params(place, value, r, config->aqm, config->aqm_config) < 0)
		return -1;
	line_describe(config, &line);
	wrong = config->aqm->check == NULL ? NULL : config->aqm->check(config->aqm_config, &line);
	return wrong == NULL ? 0 : json_place_error(place, "%s", wrong);
}

/* By its file, or by its name among ours. */
static int
choose(const struct json_place *place, const struct request *r, const struct aqm_ops **aqm)
{
	struct json_place of_file = json_place_of_key(place, "file");
	struct json_place of_name = json_place_of_key(place, "name");
	char problem[256];

	if (r->file[0] == '\0') {
		*aqm = aqm_find(r->name);
		return *aqm == NULL ? unknown_name(&of_name, r->name) : 0;
	}
	*aqm = aqm_load(r->file, problem, sizeof(problem));
	return *aqm == NULL ? json_place_error(&of_file, "%s: %s", r->file, problem) : 0;
}

int
aqm_json_read(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	struct json_place inner = json_place_inside(place);
	struct discipline_config *config = target;
	struct request r = {.seed = 0};

	(void)field;
	if (read_fixed(&inner, value, &r) < 0)
		return -1;
	if (r.file[0] == '\0' && strcmp(r.name, droptail_ops.name) == 0)
		return 0;
	if (choose(&inner, &r, &config->aqm) < 0)
		return -1;
	return read_aqm(&inner, value, &r, config);
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

json_t *
aqm_json_write(const struct discipline_config *config)
{
	json_t *object = json_pack("{s:s}", "name", config->aqm->name);

	for (const struct aqm_param *p = config->aqm->params; p->name != NULL; p++) {
		char key[KEY_BYTES];

		param_key(p, key);
		/* What has no value was left out, and is none. */
		if (aqm_get(p, config->aqm_config) >= p->min)
			json_object_set_new(object, key, param_json(p, config->aqm_config));
	}
	return object;
}
