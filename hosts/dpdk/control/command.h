/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the control socket share. Each takes the request, may
 * change it, and returns the answer, a new reference. Control thread only.
 */
#ifndef NASHBED_COMMAND_H
#define NASHBED_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "live/dataplane.h"
#include "pipeline/registers.h"

/* A lane's entries in the flow table, to take them out again. */
struct lane_entries {
	struct flow_key *keys;
	size_t n;
	size_t capacity;
};

struct commands {
	struct dataplane *dp;
	struct lane_entries *entries; /* per lane */
};

/* All of the request's fields and no others: true where they are not so, and
 * `where` says why.
 */
#define COMMAND_UNPACK(request, where, ...)                                                        \
	(json_unpack_ex(request, &(where), JSON_STRICT, __VA_ARGS__) < 0)

json_t *command_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_t *command_done(void);
/* In the hosts role the bottleneck, and with it P4, is elsewhere. */
json_t *command_not_here(const char *op);

bool command_is_lane(const struct commands *c, json_int_t lane);
bool command_are_flows(const struct commands *c, json_int_t first, json_int_t count);
json_t *command_no_such_lane(const struct commands *c);
json_t *command_no_such_flows(const struct commands *c);

json_t *command_hello(struct commands *c, json_t *request);
json_t *command_program(struct commands *c, json_t *request);
json_t *command_delay(struct commands *c, json_t *request);
json_t *command_flows(struct commands *c, json_t *request);
json_t *command_reset(struct commands *c, json_t *request);
json_t *command_telemetry(struct commands *c, json_t *request);
json_t *command_telemetry_stop(struct commands *c, json_t *request);
json_t *command_counters(struct commands *c, json_t *request);
json_t *command_stats(struct commands *c, json_t *request);

#endif
