/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Strict reading of a JSON object into a C structure, driven by a table of its keys: an unknown
 * or missing key, a wrong type or a number out of range is one line that names its place.
 */
#ifndef COMMON_JSON_FIELDS_H
#define COMMON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "failure.h"

/* Where in the input a value stands: "dp.json: ports.senders.driver". */
struct json_place {
	const char *source;  /* the file, or the name of a request */
	char prefix[64];     /* "", "ports.senders" or "flows[3]" */
	const char *key;     /* NULL: the object itself */
	const void *context; /* what the readers of a table need to know besides the value */
	struct failure *failure;
};

struct json_list;

/* A key of an object, and where its value goes. */
struct json_field {
	const char *name;
	int (*read)(const struct json_place *place, const struct json_field *field,
		    const json_t *value, void *target);
	size_t offset;		      /* of the target in the structure */
	int64_t min;		      /* of a number, or of a list's length */
	int64_t max;		      /* the same, or the size of a text's array */
	bool optional;		      /* the target is left as it is where the key is missing */
	const char *const *choices;   /* of json_read_choice, ended by NULL */
	const struct json_list *list; /* of json_read_list */
};

/* A line of a table; what follows the reader are further members, as `.max = 9`. */
#define JSON_FIELD(type, key, member, reader, ...)                                                 \
	{                                                                                          \
		.name = (key), .read = (reader), .offset = offsetof(type, member), ##__VA_ARGS__   \
	}

/* What a list of objects is read into: an array of structures, and their number beside it. */
struct json_list {
	const char *items;		 /* what they are, for messages: "flows" */
	const struct json_field *fields; /* of each of them */
	size_t n_fields;
	size_t item_bytes;
	size_t count_offset; /* of a size_t in the structure that also has the array */
	bool allocate;	     /* the target is a pointer, to a new array; else the array itself */
};

/* The value of a file; NULL with the failure set. */
json_t *json_load(const char *path, struct failure *failure);

int json_fields_read(const struct json_place *place, const json_t *object,
		     const struct json_field *fields, size_t count, void *structure);

/* The place of what is inside the value at a place: of an object, or of a list's item. */
struct json_place json_place_inside(const struct json_place *place);
struct json_place json_place_of_item(const struct json_place *place, size_t index);
struct json_place json_place_of_key(const struct json_place *place, const char *key);

/* A configuration error at a place; always returns -1. */
int json_place_error(const struct json_place *place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "an integer", "a string", ... for error messages. */
const char *json_type_name(const json_t *value);

/* Readers for the table: the target is an int64_t or uint64_t, a uint32_t, and so on. */
int json_read_i64(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);
int json_read_u32(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);
int json_read_u16(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);
int json_read_u8(const struct json_place *place, const struct json_field *field,
		 const json_t *value, void *target);
int json_read_bool(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target);

/* The target is an enum whose values number the field's choices. */
int json_read_choice(const struct json_place *place, const struct json_field *field,
		     const json_t *value, void *target);

/* The target is a char *, or an array of field->max characters. */
int json_read_string(const struct json_place *place, const struct json_field *field,
		     const json_t *value, void *target);
int json_read_text(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target);

/* The target is an array, or a pointer to one, with field->min to field->max items. */
int json_read_list(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target);

#define JSON_IPV4_EXPECTED "must be an IPv4 address like \"10.64.0.1\""

/* The target is a uint32_t in the machine's byte order. */
int json_read_ipv4(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target);

/* The target is a struct sockaddr_in, of which each reads one half. */
int json_read_sockaddr_ipv4(const struct json_place *place, const struct json_field *field,
			    const json_t *value, void *target);
int json_read_sockaddr_port(const struct json_place *place, const struct json_field *field,
			    const json_t *value, void *target);

#endif
