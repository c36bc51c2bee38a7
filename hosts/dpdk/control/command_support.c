/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>

#include "command.h"

json_t *
command_refuse(const struct json_place *place, const char *format, ...)
{
	char problem[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	json_place_error(place, "%s", problem);
	return NULL;
}

json_t *
command_done(void)
{
	return json_pack("{s:b}", "ok", 1);
}

static const struct config *
config_of(const struct json_place *place)
{
	return &((const struct commands *)place->context)->dp->config;
}

int
command_read_lane(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target)
{
	struct json_field lane = *field;

	lane.max = config_of(place)->lanes - 1;
	return json_read_u32(place, &lane, value, target);
}

int
command_read_flow(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target)
{
	struct json_field flow = *field;

	flow.max = config_of(place)->flow_capacity - 1;
	return json_read_u32(place, &flow, value, target);
}

int
command_read_flow_range(const struct json_place *place, const struct json_field *field,
			const json_t *value, void *target)
{
	const json_t *first = json_array_get(value, 0);
	const json_t *count = json_array_get(value, 1);
	json_int_t capacity = config_of(place)->flow_capacity;
	struct flow_range *range = target;

	(void)field;
	if (json_array_size(value) != 2 || !json_is_integer(first) || !json_is_integer(count) ||
	    json_integer_value(first) < 0 || json_integer_value(count) < 0 ||
	    json_integer_value(first) > capacity ||
	    json_integer_value(count) > capacity - json_integer_value(first))
		return json_place_error(place,
					"must be [first, count] within 0 to %" JSON_INTEGER_FORMAT,
					capacity);
	*range = (struct flow_range){
		.first = (uint32_t)json_integer_value(first),
		.count = (uint32_t)json_integer_value(count),
	};
	return 0;
}
