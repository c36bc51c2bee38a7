/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_fields.h"

const char *
json_type_name(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",   [JSON_ARRAY] = "a list",
		[JSON_STRING] = "a string",    [JSON_INTEGER] = "an integer",
		[JSON_REAL] = "a real number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	       [JSON_NULL] = "null",
	};

	return names[json_typeof(value)];
}

struct json_place
json_place_of_key(const struct json_place *place, const char *key)
{
	struct json_place inner = *place;

	inner.key = key;
	return inner;
}

struct json_place
json_place_inside(const struct json_place *place)
{
	struct json_place inner = json_place_of_key(place, NULL);
	size_t used = strlen(inner.prefix);

	if (place->key != NULL)
		snprintf(inner.prefix + used, sizeof(inner.prefix) - used, "%s%s",
			 used > 0 ? "." : "", place->key);
	return inner;
}

struct json_place
json_place_of_item(const struct json_place *place, size_t index)
{
	struct json_place inner = json_place_inside(place);
	size_t used = strlen(inner.prefix);

	snprintf(inner.prefix + used, sizeof(inner.prefix) - used, "[%zu]", index);
	return inner;
}

int
json_place_error(const struct json_place *place, const char *format, ...)
{
	struct json_place inner = json_place_inside(place);
	char problem[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	return failure_set(place->failure, EXIT_STATUS_CONFIG, "%s: %s%s%s", place->source,
			   inner.prefix, inner.prefix[0] != '\0' ? ": " : "", problem);
}

static int
unknown_key(const struct json_place *place, const char *key, const struct json_field *fields,
	    size_t count)
{
	char allowed[256] = "none";
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof(allowed); i++)
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
					 i > 0 ? ", " : "", fields[i].name);
	return json_place_error(place, "unknown key '%.64s' (allowed: %s)", key, allowed);
}

static const struct json_field *
find_field(const char *key, const struct json_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, key) == 0)
			return &fields[i];
	return NULL;
}

static int
refuse_unknown_keys(const struct json_place *place, const json_t *object,
		    const struct json_field *fields, size_t count)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
		if (find_field(key, fields, count) == NULL)
			return unknown_key(place, key, fields, count);
	return 0;
}

static int
read_field(const struct json_place *place, const struct json_field *field, const json_t *object,
	   void *structure)
{
	const json_t *value = json_object_get(object, field->name);
	struct json_place inner = json_place_of_key(place, field->name);

	if (value == NULL)
		return field->optional ? 0 : json_place_error(&inner, "is missing");
	return field->read(&inner, field, value, (char *)structure + field->offset);
}

int
json_fields_read(const struct json_place *place, const json_t *object,
		 const struct json_field *fields, size_t count, void *structure)
{
	if (!json_is_object(object))
		return json_place_error(place, "must be an object, not %s", json_type_name(object));
	if (refuse_unknown_keys(place, object, fields, count) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (read_field(place, &fields[i], object, structure) < 0)
			return -1;
	return 0;
}

int
json_read_i64(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return json_place_error(place, "must be an integer, not %s", json_type_name(value));
	if (number < field->min || number > field->max)
		return json_place_error(place,
					"%" JSON_INTEGER_FORMAT " is outside %" PRId64 "..%" PRId64,
					number, field->min, field->max);
	*(int64_t *)target = number;
	return 0;
}

int
json_read_u32(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	int64_t number = 0;

	if (json_read_i64(place, field, value, &number) < 0)
		return -1;
	*(uint32_t *)target = (uint32_t)number;
	return 0;
}

int
json_read_u16(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	int64_t number = 0;

	if (json_read_i64(place, field, value, &number) < 0)
		return -1;
	*(uint16_t *)target = (uint16_t)number;
	return 0;
}

int
json_read_u8(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	int64_t number = 0;

	if (json_read_i64(place, field, value, &number) < 0)
		return -1;
	*(uint8_t *)target = (uint8_t)number;
	return 0;
}

int
json_read_bool(const struct json_place *place, const struct json_field *field, const json_t *value,
	       void *target)
{
	(void)field;
	if (!json_is_boolean(value))
		return json_place_error(place, "must be true or false, not %s",
					json_type_name(value));
	*(bool *)target = json_is_true(value);
	return 0;
}

static int
not_a_choice(const struct json_place *place, const struct json_field *field, const json_t *value)
{
	char allowed[256] = "";
	size_t used = 0;

	for (size_t i = 0; field->choices[i] != NULL && used < sizeof(allowed); i++) {
		const char *comma = field->choices[i + 1] != NULL ? ", " : " or ";

		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s\"%s\"",
					 i > 0 ? comma : "", field->choices[i]);
	}
	if (!json_is_string(value))
		return json_place_error(place, "must be %s, not %s", allowed,
					json_type_name(value));
	return json_place_error(place, "must be %s, not \"%.64s\"", allowed,
				json_string_value(value));
}

int
json_read_choice(const struct json_place *place, const struct json_field *field,
		 const json_t *value, void *target)
{
	const char *text = json_string_value(value);

	for (unsigned int i = 0; text != NULL && field->choices[i] != NULL; i++) {
		if (strcmp(text, field->choices[i]) == 0) {
			*(unsigned int *)target = i;
			return 0;
		}
	}
	return not_a_choice(place, field, value);
}

int
json_read_string(const struct json_place *place, const struct json_field *field,
		 const json_t *value, void *target)
{
	(void)field;
	if (!json_is_string(value) || json_string_length(value) == 0)
		return json_place_error(place, "must be a string that is not empty%s%s",
					json_is_string(value) ? "" : ", not ",
					json_is_string(value) ? "" : json_type_name(value));
	*(char **)target = strdup(json_string_value(value));
	if (*(char **)target == NULL)
		return failure_set(place->failure, EXIT_STATUS_HOST, "out of memory");
	return 0;
}

int
json_read_text(const struct json_place *place, const struct json_field *field, const json_t *value,
	       void *target)
{
	size_t length = json_string_length(value);

	if (!json_is_string(value))
		return json_place_error(place, "must be a string, not %s", json_type_name(value));
	if (length == 0 || length >= (size_t)field->max)
		return json_place_error(place, "must be a string of 1 to %" PRId64 " characters",
					field->max - 1);
	memcpy(target, json_string_value(value), length + 1);
	return 0;
}

static int
wrong_length(const struct json_place *place, const struct json_field *field)
{
	if (field->min > 0)
		return json_place_error(place, "must be a list of %" PRId64 " to %" PRId64 " %s",
					field->min, field->max, field->list->items);
	return json_place_error(place, "must be a list of at most %" PRId64 " %s", field->max,
				field->list->items);
}

/* The array that a list's items go into; NULL when memory has run out. */
static char *
array_for(const struct json_list *list, size_t count, void *target)
{
	if (list->allocate && count > 0)
		*(void **)target = calloc(count, list->item_bytes);
	return list->allocate ? *(char **)target : target;
}

int
json_read_list(const struct json_place *place, const struct json_field *field, const json_t *value,
	       void *target)
{
	const struct json_list *list = field->list;
	size_t count = json_array_size(value);
	char *items;

	if (!json_is_array(value) || (int64_t)count < field->min || (int64_t)count > field->max)
		return wrong_length(place, field);
	items = array_for(list, count, target);
	if (items == NULL && count > 0)
		return failure_set(place->failure, EXIT_STATUS_HOST, "out of memory");

	*(size_t *)((char *)target - field->offset + list->count_offset) = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place inner = json_place_of_item(place, i);

		if (json_fields_read(&inner, json_array_get(value, i), list->fields, list->n_fields,
				     items + i * list->item_bytes) < 0)
			return -1;
	}
	return 0;
}

int
json_read_ipv4(const struct json_place *place, const struct json_field *field, const json_t *value,
	       void *target)
{
	const char *text = json_string_value(value);
	struct in_addr address;

	(void)field;
	if (text == NULL || inet_pton(AF_INET, text, &address) != 1)
		return json_place_error(place, JSON_IPV4_EXPECTED);
	*(uint32_t *)target = ntohl(address.s_addr);
	return 0;
}

int
json_read_sockaddr_ipv4(const struct json_place *place, const struct json_field *field,
			const json_t *value, void *target)
{
	struct sockaddr_in *address = target;
	uint32_t number = 0;

	if (json_read_ipv4(place, field, value, &number) < 0)
		return -1;
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(number);
	return 0;
}

int
json_read_sockaddr_port(const struct json_place *place, const struct json_field *field,
			const json_t *value, void *target)
{
	int64_t number = 0;

	if (json_read_i64(place, field, value, &number) < 0)
		return -1;
	((struct sockaddr_in *)target)->sin_port = htons((uint16_t)number);
	return 0;
}

json_t *
json_load(const char *path, struct failure *failure)
{
	json_error_t error;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (root != NULL)
		return root;
	if (error.line < 0)
		failure_set(failure, EXIT_STATUS_CONFIG, "%s: %s", path, error.text);
	else
		failure_set(failure, EXIT_STATUS_CONFIG, "%s:%d:%d: not JSON: %s", path, error.line,
			    error.column, error.text);
	return NULL;
}
