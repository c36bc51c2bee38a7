/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What has a name and parameters, in JSON: a discipline, or a policy of shared memory.
 *   {"name":"codel","target_ns":5000000,"ecn":true,"seed":1}
 * "file" is the shared object of a user's own; what is left out has its default.
 */
#ifndef NASHBED_PARAMS_JSON_H
#define NASHBED_PARAMS_JSON_H

#include "common/json_fields.h"
#include "core/aqm.h"

#define NAMED_PATH_BYTES 4096
#define NAMED_BYTES 32

struct named {
	char name[NAMED_BYTES];
	char file[NAMED_PATH_BYTES]; /* "": one of ours */
	uint64_t seed;
};

/* Its name, file and seed, whatever else there is. */
int params_json_read_named(const struct json_place *place, const json_t *value,
			   struct named *named);

/* The parameters beside them, into a configuration that has its defaults. */
int params_json_read(const struct json_place *place, const json_t *value,
		     const struct aqm_param *params, void *config);

/* The reader of a field that is read elsewhere, and is only to be allowed. */
int params_json_skip(const struct json_place *place, const struct json_field *field,
		     const json_t *value, void *target);

/* Into an object; what has no value is left out. */
void params_json_write(json_t *object, const struct aqm_param *params, const void *config);

#endif
