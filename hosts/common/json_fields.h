/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A JSON object and the C structure that it stands for, by one table of its keys: the same rows
 * read it and print it. What writes it has checked it, so a refusal only says which value is bad;
 * the bounds of a row are those that protect memory and arithmetic.
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

struct json_field;

/* How a value is read and printed. */
struct json_kind {
	/* 0; or -1, with a failure where there is more to say than that the value is bad. */
	int (*read)(const struct json_place *place, const struct json_field *field,
		    const json_t *value, void *target);
	/* A new reference; NULL: it is left out. */
	json_t *(*write)(const struct json_field *field, const void *target);
};

/* A key of an object, and where its value goes. A table ends with {0}. */
struct json_field {
	const char *name; /* NULL: the keys of `fields` stand in this object itself */
	const struct json_kind *kind;
	size_t offset;		    /* of the target in the structure */
	size_t bytes;		    /* of the target */
	int64_t min;		    /* of a number, or of a list's length */
	int64_t max;		    /* likewise; of a number, 0: what the target has room for */
	bool optional;		    /* the target is left as it is where the key is missing */
	bool unless_zero;	    /* it is not printed where the target is all zeroes */
	const char *const *choices; /* of as_choice, ended by NULL */
	const struct json_field *fields; /* of as_object */
	/* Of as_object, when its fields have been read. 0, or -1 as a kind's `read`. */
	int (*check)(const struct json_place *place, void *structure);
	const struct json_field *item; /* of as_list: what each of its items is */
	size_t count_offset;	       /* of as_list: how many there are, beside the target */
	size_t count_bytes;
	bool allocate; /* of as_list: the target is a pointer, to a new array; else the array */
};

#define JSON_BYTES(type, member) sizeof(((type *)0)->member)

/* A row; what follows the kind are further members, as `.max = 9`. */
#define JSON_FIELD(type, key, member, how, ...)                                                    \
	{                                                                                          \
		.name = (key), .kind = &(how), .offset = offsetof(type, member),                   \
		.bytes = JSON_BYTES(type, member), ##__VA_ARGS__                                   \
	}

/* A row of a list, whose length is another member. */
#define JSON_LIST(type, key, member, count, of, ...)                                               \
	JSON_FIELD(type, key, member, as_list, .item = &(of),                                      \
		   .count_offset = offsetof(type, count), .count_bytes = JSON_BYTES(type, count),  \
		   ##__VA_ARGS__)

/* What a list's items are: structures of a type with a table of their own. */
#define JSON_ITEM(type, table)                                                                     \
	{                                                                                          \
		.kind = &as_object, .bytes = sizeof(type), .fields = (table)                       \
	}

/* The target is a whole number of any width, signed or not. */
extern const struct json_kind as_number;
extern const struct json_kind as_flag; /* bool */
/* The target is an enum whose values number the field's choices. */
extern const struct json_kind as_choice;
/* The target is a char *, or an array of char; neither is empty. */
extern const struct json_kind as_string;
extern const struct json_kind as_text;
/* The target is an array, or a pointer to one, with field->min to field->max items. */
extern const struct json_kind as_list;
extern const struct json_kind as_object;
/* The target is a uint32_t in the machine's byte order, and either half of a struct sockaddr_in. */
extern const struct json_kind as_ipv4;
extern const struct json_kind as_sockaddr_ipv4;
extern const struct json_kind as_sockaddr_port;

/* The value of a file; NULL with the failure set. */
json_t *json_load(const char *path, struct failure *failure);

/* Every key once, none that the table does not have. 0, or -1 with the failure set. */
int json_fields_read(const struct json_place *place, const json_t *object,
		     const struct json_field *fields, void *structure);

/* A new object. */
json_t *json_fields_write(const struct json_field *fields, const void *structure);

struct json_place json_place_of_key(const struct json_place *place, const char *key);

/* A configuration error at a place; always returns -1. */
int json_place_error(const struct json_place *place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
