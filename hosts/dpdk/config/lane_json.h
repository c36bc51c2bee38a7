/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lane's bottleneck in JSON, the same in the configuration of a replay, on the control socket and
 * as what was applied: controlplane/contract/messages/lane.json describes it. A discipline's or a
 * policy's "file" is the shared object of a user's own; the policy "static" has "limits_bytes".
 */
#ifndef NASHBED_LANE_JSON_H
#define NASHBED_LANE_JSON_H

#include "common/json_fields.h"
#include "core/lane_config.h"

/* Of a struct lane_config, whose plan has arrays from then on that line_plan_free() gives
 * back; lane_check() when they are read.
 */
extern const struct json_field lane_config_fields[];
int lane_check(const struct json_place *place, void *config);

/* Of the same structure: what the way back has of them. */
extern const struct json_field return_config_fields[];

/* Of a struct group_delay, and of a struct impairment_settings, whose lists are its own. */
extern const struct json_field group_delay_fields[];
extern const struct json_field impairment_settings_fields[];

#endif
