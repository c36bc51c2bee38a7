/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What happens to a lane's line, and the policer in front of its queue, in JSON:
 *   "schedule":{"states":[{"at_ns":n,"rate_bps":n,"limit":n}, ...], "period_ns":n}
 *   "schedule":{"opportunities":FILE, "opportunity_bits":n, "period_ns":n}
 *   "policer":{"rate_bps":n,"burst_bytes":n}
 * FILE holds the times in ns as unsigned 64-bit numbers, little-endian. Times are after t0.
 */
#ifndef NASHBED_LINE_JSON_H
#define NASHBED_LINE_JSON_H

#include <jansson.h>

#include "common/json_fields.h"
#include "core/discipline.h"

/* Readers for a table; the target is a struct discipline_config, whose plan has arrays from then on
 * that line_plan_free() gives back.
 */
int line_json_read_schedule(const struct json_place *place, const struct json_field *field,
			    const json_t *value, void *target);
int line_json_read_policer(const struct json_place *place, const struct json_field *field,
			   const json_t *value, void *target);

/* Add what a configuration has of the two; of opportunities, their number. */
void line_json_write(const struct discipline_config *config, json_t *object);

#endif
