/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "discipline_json.h"

static const char *const unit_names[] = {
	[LIMIT_BYTES] = "bytes",
	[LIMIT_PACKETS] = "packets",
	[LIMIT_CELLS] = "cells",
	NULL,
};

const char *const arrivals_names[] = {
	[ARRIVALS_FRAMES] = "frames",
	[ARRIVALS_TRAINS] = "trains",
	NULL,
};

const char *const limit_counts_names[] = {
	[COUNTS_SYSTEM] = "system",
	[COUNTS_QUEUE] = "queue",
	NULL,
};

static const struct json_field limit_fields[] = {
	JSON_FIELD(struct discipline_config, "unit", unit, json_read_choice, .choices = unit_names),
	JSON_FIELD(struct discipline_config, "value", limit, json_read_i64, .min = 1,
		   .max = LIMIT_MAX),
	JSON_FIELD(struct discipline_config, "cell_bytes", cell_bytes, json_read_u32,
		   .max = CELL_BYTES_MAX, .optional = true),
};

struct alone {
	struct discipline_config config;
};

static const struct json_field fields[] = {DISCIPLINE_JSON_FIELDS(struct alone, config)};

int
discipline_json_read_limit(const struct json_place *place, const struct json_field *field,
			   const json_t *value, void *target)
{
	const struct discipline_config *config = target;
	struct json_place inner = json_place_inside(place);

	(void)field;
	if (json_fields_read(&inner, value, limit_fields,
			     sizeof(limit_fields) / sizeof(limit_fields[0]), target) < 0)
		return -1;
	inner.key = "cell_bytes";
	if (config->unit == LIMIT_CELLS && config->cell_bytes == 0)
		return json_place_error(&inner, "must be 1 or more where the unit is \"cells\"");
	return 0;
}

int
discipline_json_read(const struct json_place *place, const struct json_field *field,
		     const json_t *value, void *target)
{
	struct json_place inner = json_place_inside(place);

	(void)field;
	return json_fields_read(&inner, value, fields, sizeof(fields) / sizeof(fields[0]), target);
}

json_t *
discipline_json_write(const struct discipline_config *config)
{
	json_t *object = json_pack("{s:I, s:{s:s, s:I, s:I}, s:I, s:s, s:s}", "rate_bps",
				   (json_int_t)config->rate_bps, "limit", "unit",
				   unit_names[config->unit], "value", (json_int_t)config->limit,
				   "cell_bytes", (json_int_t)config->cell_bytes, "overhead_bytes",
				   (json_int_t)config->overhead_bytes, "arrivals",
				   arrivals_names[config->arrivals], "limit_counts",
				   limit_counts_names[config->counts]);

	if (config->aqm.ops == &queues_ops)
		json_object_set_new(object, "queues", queues_json_write(&config->queues));
	else if (config->aqm.ops != NULL)
		json_object_set_new(object, "discipline", aqm_json_write(&config->aqm));
	line_json_write(config, object);
	return object;
}
