/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lane's bottleneck in JSON, the same in the configuration of a replay and on the control
 * socket:
 *   {"rate_bps":n,"limit":{"unit":"bytes|packets|cells","value":n,"cell_bytes":n},
 *    "overhead_bytes":n, "arrivals":"frames|trains", "limit_counts":"system|queue",
 *    "discipline":{"name":"codel", ...}}
 * and what line_json.h has. Without a discipline it is drop-tail; params_json.h says what one looks like, and queues_json.h
 * what several "queues" do, which take its place.
 */
#ifndef NASHBED_DISCIPLINE_JSON_H
#define NASHBED_DISCIPLINE_JSON_H

#include "aqm_json.h"
#include "common/json_fields.h"
#include "common/shared.h"
#include "core/discipline.h"
#include "line_json.h"
#include "queues_json.h"

/* The keys, for a table of a structure with such a member. */
#define DISCIPLINE_JSON_FIELDS(type, member)                                                       \
	JSON_FIELD(type, "rate_bps", member.rate_bps, json_read_i64, .min = 1,                     \
		   .max = RATE_BPS_MAX),                                                           \
		JSON_FIELD(type, "limit", member, discipline_json_read_limit),                     \
		JSON_FIELD(type, "arrivals", member.arrivals, json_read_choice,                    \
			   .choices = arrivals_names, .optional = true),                           \
		JSON_FIELD(type, "limit_counts", member.counts, json_read_choice,                  \
			   .choices = limit_counts_names, .optional = true),                       \
		JSON_FIELD(type, "overhead_bytes", member.overhead_bytes, json_read_u32,           \
			   .max = OVERHEAD_BYTES_MAX, .optional = true),                           \
		JSON_FIELD(type, "discipline", member, aqm_json_read, .optional = true),           \
		JSON_FIELD(type, "queues", member, queues_json_read, .optional = true),            \
		JSON_FIELD(type, "schedule", member, line_json_read_schedule, .optional = true),   \
		JSON_FIELD(type, "policer", member, line_json_read_policer, .optional = true)

/* enum arrivals; ends with NULL. */
extern const char *const arrivals_names[];

/* enum limit_counts; ends with NULL. */
extern const char *const limit_counts_names[];

/* Readers for a table; the target is a struct discipline_config. */
int discipline_json_read(const struct json_place *place, const struct json_field *field,
			 const json_t *value, void *target);
int discipline_json_read_limit(const struct json_place *place, const struct json_field *field,
			       const json_t *value, void *target);

/* A new reference. */
json_t *discipline_json_write(const struct discipline_config *config);

#endif
