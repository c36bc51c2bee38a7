/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lane's bottleneck in JSON, the same in the configuration of a replay, on the control socket and
 * as what was applied:
 *   {"rate_bps":n, "limit":{"unit":"bytes|packets|cells","value":n,"cell_bytes":n},
 *    "overhead_bytes":n, "arrivals":"frames|trains", "limit_counts":"system|queue",
 *    "discipline":{"name":"codel","target_ns":5000000,"ecn":true,"seed":1},
 *    "queues":{"scheduler":"drr|strict_priority","seed":n,
 *              "memory":{"name":"dynamic_threshold","alpha":1.0},
 *              "queues":[{"limit_bytes":0,"weight":1,"discipline":{...}}, ...]},
 *    "schedule":{"states":[{"at_ns":n,"rate_bps":n,"limit":n}, ...], "period_ns":n} or
 *               {"opportunities":FILE, "opportunity_bits":n, "period_ns":n},
 *    "policer":{"rate_bps":n,"burst_bytes":n}}
 * A discipline's or a policy's "file" is the shared object of a user's own; the policy "static" has
 * "limits_bytes", a list. FILE holds times in ns as unsigned 64-bit numbers, little-endian; times
 * are after t0. What is left out: drop-tail, drr, complete_sharing, no limit of a queue, weight 1,
 * the default of each parameter.
 */
#ifndef NASHBED_LANE_JSON_H
#define NASHBED_LANE_JSON_H

#include "common/json_fields.h"
#include "core/lane_config.h"

/* Of a struct lane_config, whose plan has arrays from then on that line_plan_free() gives
 * back; lane_check() when they are read.
 */
extern const struct json_field lane_fields[];
int lane_check(const struct json_place *place, void *config);

/* Of the same structure: what the way back has of them. */
extern const struct json_field lane_return_fields[];

#endif
