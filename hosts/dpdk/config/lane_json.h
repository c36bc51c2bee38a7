/* SPDX-License-Identifier: Apache-2.0 */
/* A lane's bottleneck in JSON, the same in the configuration of a replay and
 * on the control socket:
 *   {"rate_bps":n,"limit":{"unit":"bytes|packets|cells","value":n,"cell_bytes":n},
 *    "overhead_bytes":n}
 */
#ifndef NASHBED_LANE_JSON_H
#define NASHBED_LANE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "core/discipline.h"

/* 0, or -EINVAL with what is wrong. */
int lane_json_read(json_t *object, struct discipline_config *lane, char *error, size_t error_bytes);

/* A new reference. */
json_t *lane_json_write(const struct discipline_config *lane);

#endif
