/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A discipline in JSON (params_json.h says how it looks). */
#ifndef NASHBED_AQM_JSON_H
#define NASHBED_AQM_JSON_H

#include "common/json_fields.h"
#include "core/discipline.h"

/* A reader for a table, behind what says the line and its limit; the target is a struct
 * discipline_config.
 */
int aqm_json_read(const struct json_place *place, const struct json_field *field,
		  const json_t *value, void *target);

/* A discipline for a line; its seed is kept where none is given. */
int aqm_json_read_setup(const struct json_place *place, const json_t *value,
			const struct aqm_line *line, struct aqm_setup *setup);

/* A new reference; of a discipline that decides when it is asked. */
json_t *aqm_json_write(const struct aqm_setup *setup);

#endif
