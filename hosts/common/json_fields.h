/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict reading of a JSON object into a C structure, driven by a table of its keys: an unknown
 * or missing key, a wrong type or a number out of range is one line that names file and key.
 */
#ifndef COMMON_JSON_FIELDS_H
#define COMMON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "failure.h"

/* Where in the input a value stands: "file: flows[3].sport". */
struct json_place {
	const char *file;
	char prefix[32]; /* "" or "flows[3]" */
	const char *key; /* NULL: the object itself */
	struct failure *failure;
};

struct json_field {
	const char *name;
	int (*read)(const struct json_place *place, const struct json_field *field,
		    const json_t *value, void *target);
	size_t offset; /* of the target in the structure */
	int64_t min;
	int64_t max;
	bool optional;
};

int json_fields_read(const struct json_place *place, const json_t *object,
		     const struct json_field *fields, size_t count, void *structure);

/* A configuration error at a place; always returns -1. */
int json_place_error(const struct json_place *place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "an integer", "a string", ... for error messages. */
const char *json_type_name(const json_t *value);

/* Readers for the table: the target is an int64_t, a uint32_t, a char *. */
int json_read_i64(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);
int json_read_u32(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);
int json_read_string(const struct json_place *place, const struct json_field *field,
		     const json_t *value, void *target);

/* Readers of the two halves of a struct sockaddr_in. */
#define JSON_IPV4_WANTED "must be an IPv4 address like \"10.64.0.1\""

int json_read_ipv4(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target);
int json_read_port(const struct json_place *place, const struct json_field *field,
		   const json_t *value, void *target);

#endif
