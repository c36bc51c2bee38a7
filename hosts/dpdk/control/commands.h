/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the control socket can be asked. Control thread only. */
#ifndef NASHBED_COMMANDS_H
#define NASHBED_COMMANDS_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_fields.h"
#include "pipeline/registers.h"
#include "plane/dataplane.h"

struct commands;

struct commands *commands_create(struct dataplane *dp);
void commands_destroy(struct commands *c);

/* Whether the request is one of the commands, right or wrong; what is not JSON counts as one. */
bool commands_has(const char *line, size_t bytes);

/* The answer to one request, a new reference; never NULL but out of memory. */
json_t *commands_answer(struct commands *c, const char *line, size_t bytes);

/* What follows is for the commands themselves, command_*.c. */

/* A lane's entries in the flow table, to take them out again, and what its program says of queues. */
struct lane_entries {
	struct flow_key *keys;
	size_t n;
	size_t capacity;
	size_t n_queues; /* 0: one, which has no number */
	bool has_dscp;	 /* the DSCP table has an entry for each */
};

struct commands {
	struct dataplane *dp;
	struct lane_entries *entries; /* per lane */
};

struct flow_range {
	uint32_t first;
	uint32_t count;
};

/* For the tables of requests: within this data plane's lanes and flows. The place's context is the
 * struct commands; the target is a uint32_t, or a struct flow_range.
 */
extern const struct json_kind as_lane, as_flow, as_flow_range;

/* Of a request that has none but its op. */
extern const struct json_field no_fields[];

/* Set the place's failure, "<op>: ..."; always returns NULL. */
json_t *command_refuse(const struct json_place *place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* {"ok": true} */
json_t *command_done(void);

/* A command: reads the request, without its "op", and returns the answer, a new reference; or NULL
 * with the place's failure set.
 */
json_t *command_hello(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_program(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_delay(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_impair(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_flows(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_begin(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_reset(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_telemetry(struct commands *c, const struct json_place *place,
			  const json_t *request);
json_t *command_telemetry_stop(struct commands *c, const struct json_place *place,
			       const json_t *request);
json_t *command_disturbances(struct commands *c, const struct json_place *place,
			     const json_t *request);
json_t *command_counters(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_return(struct commands *c, const struct json_place *place, const json_t *request);
json_t *command_return_queue(struct commands *c, const struct json_place *place,
			     const json_t *request);
json_t *command_stats(struct commands *c, const struct json_place *place, const json_t *request);

#endif
