/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_fields.h"

/* The place of what is inside the value at a place. */
static struct json_place
inside(const struct json_place *place)
{
	struct json_place inner = *place;
	size_t used = strlen(inner.prefix);

	inner.key = NULL;
	if (place->key != NULL)
		snprintf(inner.prefix + used, sizeof(inner.prefix) - used, "%s%s",
			 used > 0 ? "." : "", place->key);
	return inner;
}

struct json_place
json_place_of_key(const struct json_place *place, const char *key)
{
	struct json_place inner = inside(place);

	inner.key = key;
	return inner;
}

static struct json_place
place_of_item(const struct json_place *place, size_t index)
{
	struct json_place inner = inside(place);
	size_t used = strlen(inner.prefix);

	snprintf(inner.prefix + used, sizeof(inner.prefix) - used, "[%zu]", index);
	return inner;
}

int
json_place_error(const struct json_place *place, const char *format, ...)
{
	struct json_place inner = inside(place);
	char problem[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	return failure_set(place->failure, EXIT_STATUS_CONFIG, "%s: %s%s%s", place->source,
			   inner.prefix, inner.prefix[0] != '\0' ? ": " : "", problem);
}

/* What a reader says that says nothing itself. */
static int
bad_value(const struct json_place *place, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	json_place_error(place, "bad value %.64s", text != NULL ? text : "");
	free(text);
	return -1;
}

static const struct json_field *
find_field(const char *key, const struct json_field *fields)
{
	for (; fields->kind != NULL; fields++) {
		const struct json_field *found = fields;

		if (fields->name == NULL)
			found = find_field(key, fields->fields);
		else if (strcmp(fields->name, key) != 0)
			found = NULL;
		if (found != NULL)
			return found;
	}
	return NULL;
}

static int read_fields(const struct json_place *place, const json_t *object,
		       const struct json_field *fields, void *structure);

static int
read_field(const struct json_place *place, const struct json_field *field, const json_t *object,
	   void *target)
{
	struct json_place inner = *place;
	const json_t *value;

	if (field->name == NULL) {
		if (read_fields(place, object, field->fields, target) < 0)
			return -1;
		return field->check != NULL ? field->check(place, target) : 0;
	}
	inner.key = field->name;
	value = json_object_get(object, field->name);
	if (value == NULL)
		return field->optional ? 0 : json_place_error(&inner, "is missing");
	return field->kind->read(&inner, field, value, target) < 0 ? bad_value(&inner, value) : 0;
}

static int
read_fields(const struct json_place *place, const json_t *object, const struct json_field *fields,
	    void *structure)
{
	for (; fields->kind != NULL; fields++)
		if (read_field(place, fields, object, (char *)structure + fields->offset) < 0)
			return -1;
	return 0;
}

int
json_fields_read(const struct json_place *place, const json_t *object,
		 const struct json_field *fields, void *structure)
{
	struct json_place inner = inside(place);
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return bad_value(place, object);
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
		if (find_field(key, fields) == NULL)
			return json_place_error(&inner, "unknown key '%.64s'", key);
	return read_fields(&inner, object, fields, structure);
}

static bool
is_zero(const struct json_field *field, const char *target)
{
	for (size_t i = 0; i < field->bytes; i++)
		if (target[i] != 0)
			return false;
	return true;
}

static void
write_fields(json_t *object, const struct json_field *fields, const void *structure)
{
	for (; fields->kind != NULL; fields++) {
		const char *target = (const char *)structure + fields->offset;
		json_t *value;

		if (fields->name == NULL) {
			write_fields(object, fields->fields, target);
			continue;
		}
		if (fields->kind->write == NULL || (fields->unless_zero && is_zero(fields, target)))
			continue;
		value = fields->kind->write(fields, target);
		if (value != NULL)
			json_object_set_new(object, fields->name, value);
	}
}

json_t *
json_fields_write(const struct json_field *fields, const void *structure)
{
	json_t *object = json_object();

	write_fields(object, fields, structure);
	return object;
}

static int
read_object(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	if (json_fields_read(place, value, field->fields, target) < 0)
		return -1;
	return field->check != NULL ? field->check(place, target) : 0;
}

static json_t *
write_object(const struct json_field *field, const void *target)
{
	return json_fields_write(field->fields, target);
}

/* Little-endian (shared.h), so that the lowest bytes are the number in any width. */
static int
read_number(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	int64_t room = field->bytes < 8 ? (INT64_C(1) << 8 * field->bytes) - 1 : INT64_MAX;
	int64_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < field->min ||
	    number > (field->max != 0 ? field->max : room))
		return -1;
	memcpy(target, &number, field->bytes);
	return 0;
}

static json_t *
write_number(const struct json_field *field, const void *target)
{
	int64_t number = 0;

	memcpy(&number, target, field->bytes);
	return json_integer(number);
}

static int
read_flag(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	*(bool *)target = json_is_true(value);
	return json_is_boolean(value) ? 0 : -1;
}

static json_t *
write_flag(const struct json_field *field, const void *target)
{
	return json_boolean(*(const bool *)target);
}

static int
read_choice(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	const char *text = json_string_value(value);

	for (unsigned int i = 0; text != NULL && field->choices[i] != NULL; i++) {
		if (strcmp(text, field->choices[i]) == 0) {
			*(unsigned int *)target = i;
			return 0;
		}
	}
	return -1;
}

static json_t *
write_choice(const struct json_field *field, const void *target)
{
	return json_string(field->choices[*(const unsigned int *)target]);
}

static int
read_string(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	if (json_string_length(value) == 0)
		return -1;
	*(char **)target = strdup(json_string_value(value));
	if (*(char **)target == NULL)
		return failure_set(place->failure, EXIT_STATUS_HOST, "out of memory");
	return 0;
}

static int
read_text(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	size_t length = json_string_length(value);

	if (length == 0 || length >= field->bytes)
		return -1;
	memcpy(target, json_string_value(value), length + 1);
	return 0;
}

static json_t *
write_text(const struct json_field *field, const void *target)
{
	return json_string(target);
}

static int
read_items(const struct json_place *place, const struct json_field *item, const json_t *list,
	   char *items)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct json_place inner = place_of_item(place, i);
		const json_t *value = json_array_get(list, i);

		if (item->kind->read(&inner, item, value, items + i * item->bytes) < 0)
			return bad_value(&inner, value);
	}
	return 0;
}

static int
read_list(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	size_t count = json_array_size(value);
	char *items = target;

	if (!json_is_array(value) || (int64_t)count < field->min || (int64_t)count > field->max)
		return -1;
	if (field->allocate) {
		*(void **)target = calloc(count > 0 ? count : 1, field->item->bytes);
		items = *(void **)target;
		if (items == NULL)
			return failure_set(place->failure, EXIT_STATUS_HOST, "out of memory");
	}
	memcpy((char *)target - field->offset + field->count_offset, &count, field->count_bytes);
	return read_items(place, field->item, value, items);
}

static json_t *
write_list(const struct json_field *field, const void *target)
{
	const char *items = field->allocate ? *(char *const *)target : target;
	json_t *list = json_array();
	size_t count = 0;

	memcpy(&count, (const char *)target - field->offset + field->count_offset,
	       field->count_bytes);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, field->item->kind->write(
						    field->item, items + i * field->item->bytes));
	return list;
}

static int
read_ipv4(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	const char *text = json_string_value(value);
	struct in_addr address;

	if (text == NULL || inet_pton(AF_INET, text, &address) != 1)
		return -1;
	*(uint32_t *)target = ntohl(address.s_addr);
	return 0;
}

static int
read_sockaddr_ipv4(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target)
{
	struct sockaddr_in *address = target;
	const char *text = json_string_value(value);

	address->sin_family = AF_INET;
	return text != NULL && inet_pton(AF_INET, text, &address->sin_addr) == 1 &&
			       address->sin_addr.s_addr != htonl(INADDR_ANY) ?
		       0 :
		       -1;
}

static int
read_sockaddr_port(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target)
{
	json_int_t port = json_integer_value(value);

	if (!json_is_integer(value) || port < 1 || port > UINT16_MAX)
		return -1;
	((struct sockaddr_in *)target)->sin_port = htons((uint16_t)port);
	return 0;
}

const struct json_kind as_number = {read_number, write_number};
const struct json_kind as_flag = {read_flag, write_flag};
const struct json_kind as_choice = {read_choice, write_choice};
const struct json_kind as_string = {read_string, NULL};
const struct json_kind as_text = {read_text, write_text};
const struct json_kind as_list = {read_list, write_list};
const struct json_kind as_object = {read_object, write_object};
const struct json_kind as_ipv4 = {read_ipv4, NULL};
const struct json_kind as_sockaddr_ipv4 = {read_sockaddr_ipv4, NULL};
const struct json_kind as_sockaddr_port = {read_sockaddr_port, NULL};

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
