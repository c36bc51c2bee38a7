/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lane's discipline in JSON, with its parameters by their kinds:
 *   {"name":"codel","target_ns":5000000,"ecn":true,"seed":1}
 * "file" is the shared object of a user's own, which is loaded; what is left out has its default.
 */
#ifndef NASHBED_AQM_JSON_H
#define NASHBED_AQM_JSON_H

#include "common/json_fields.h"
#include "core/discipline.h"
#include "core/disciplines.h"

/* A reader for a table, behind what says the line and its limit; the target is a struct
 * discipline_config.
 */
int aqm_json_read(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);

/* A new reference; of a discipline that decides when it is asked. */
json_t *aqm_json_write(const struct discipline_config *config);

#endif
