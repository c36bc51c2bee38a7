/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Several queues of a lane in JSON:
 *   {"scheduler":"drr|strict_priority", "seed":n,
 *    "memory":{"name":"dynamic_threshold","alpha":1.0},
 *    "queues":[{"limit_bytes":0,"weight":1,"discipline":{"name":"codel", ...}}, ...]}
 * A memory's policy is named as a discipline is (params_json.h); "static" has "limits_bytes", a
 * list. What is left out: drr, seed 0, complete_sharing, no limit, weight 1, drop-tail.
 */
#ifndef NASHBED_QUEUES_JSON_H
#define NASHBED_QUEUES_JSON_H

#include "common/json_fields.h"
#include "core/discipline.h"

/* A reader for a table, behind all else that says the line; the target is a struct
 * discipline_config.
 */
int queues_json_read(const struct json_place *place, const struct json_field *field,
		     const json_t *value, void *target);

/* A new reference. */
json_t *queues_json_write(const struct queues_config *config);

#endif
