/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "common/shared.h"
#include "layouts.h"

struct field {
	const char *name;
	const char *type;
	size_t offset;
};

#define SAMPLE_FIELD(ctype, type, name) {#name, #type, offsetof(struct flow_sample, name)},
#define GOODPUT_FIELD(ctype, type, name) {#name, #type, offsetof(struct goodput_record, name)},

static const struct field sample_fields[] = {FLOW_SAMPLE_FIELDS(SAMPLE_FIELD)};
static const struct field goodput_fields[] = {GOODPUT_RECORD_FIELDS(GOODPUT_FIELD)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static json_t *
layout_to_json(size_t record_bytes, const struct field *fields, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", fields[i].name,
						      "type", fields[i].type, "offset",
						      (json_int_t)fields[i].offset));
	return json_pack("{s:I, s:o}", "record_bytes", (json_int_t)record_bytes, "fields", list);
}

int
layouts_print(FILE *stream, struct failure *failure)
{
	json_t *layouts = json_pack("{s:o, s:o}", FLOW_SAMPLES_FILE,
				    layout_to_json(sizeof(struct flow_sample), sample_fields,
						   COUNT(sample_fields)),
				    GOODPUT_FILE,
				    layout_to_json(sizeof(struct goodput_record), goodput_fields,
						   COUNT(goodput_fields)));
	int result = json_dumpf(layouts, stream, JSON_INDENT(1));

	json_decref(layouts);
	if (result < 0 || fputc('\n', stream) == EOF || fflush(stream) != 0)
		return failure_set(failure, EXIT_STATUS_HOST, "cannot print: %s", strerror(errno));
	return 0;
}
