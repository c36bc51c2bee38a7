/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"

struct commands *
commands_create(struct dataplane *dp)
{
	struct commands *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->dp = dp;
	c->entries = calloc(dp->config.lanes, sizeof(*c->entries));
	if (c->entries == NULL) {
		free(c);
		return NULL;
	}
	return c;
}

void
commands_destroy(struct commands *c)
{
	for (uint32_t lane = 0; lane < c->dp->config.lanes; lane++)
		free(c->entries[lane].keys);
	free(c->entries);
	free(c);
}

static json_t *
shut_down(struct commands *c, json_t *request)
{
	(void)request;
	atomic_store(&c->dp->stop, true);
	mailbox_wake(&c->dp->mailbox);
	return command_done();
}

struct command {
	const char *op;
	json_t *(*run)(struct commands *c, json_t *request);
};

static const struct command table[] = {
	{"hello", command_hello},
	{"program", command_program},
	{"delay", command_delay},
	{"flows", command_flows},
	{"reset", command_reset},
	{"telemetry", command_telemetry},
	{"telemetry_stop", command_telemetry_stop},
	{"counters", command_counters},
	{"stats", command_stats},
	{"shutdown", shut_down},
};

static json_t *
dispatch(struct commands *c, json_t *request)
{
	const char *op = json_string_value(json_object_get(request, "op"));

	for (size_t i = 0; op != NULL && i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(op, table[i].op) == 0)
			return table[i].run(c, request);
	return command_refuse("op must be one of hello, program, delay, flows, telemetry, "
			      "telemetry_stop, counters, stats, reset, shutdown");
}

json_t *
commands_answer(struct commands *c, const char *line, size_t bytes)
{
	json_error_t where;
	json_t *request = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
	json_t *answer;

	if (request == NULL)
		return command_refuse("not JSON: %s", where.text);
	answer = dispatch(c, request);
	json_decref(request);
	return answer;
}
