/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "commands.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *
command_refuse(const struct json_place *place, const char *format, ...)
{
	char problem[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	json_place_error(place, "%s", problem);
	return NULL;
}

json_t *
command_done(void)
{
	return json_pack("{s:b}", "ok", 1);
}

static const struct config *
config_of(const struct json_place *place)
{
	return &((const struct commands *)place->context)->dp->config;
}

static int
read_below(const struct json_place *place, const json_t *value, uint32_t bound, void *target)
{
	static const struct json_field number = {.bytes = sizeof(uint32_t)};

	if (as_number.read(place, &number, value, target) < 0)
		return -1;
	return *(const uint32_t *)target < bound ? 0 : -1;
}

static int
read_lane(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	return read_below(place, value, config_of(place)->lanes, target);
}

static int
read_flow(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	return read_below(place, value, config_of(place)->flow_capacity, target);
}

/* [first, count] */
static int
read_flow_range(const struct json_place *place, const struct json_field *field, const json_t *value,
		void *target)
{
	json_int_t first, count, capacity = config_of(place)->flow_capacity;

	if (json_unpack((json_t *)(uintptr_t)value, "[I, I!]", &first, &count) < 0 || first < 0 ||
	    first > capacity || count < 0 || count > capacity - first)
		return -1;
	*(struct flow_range *)target =
		(struct flow_range){.first = (uint32_t)first, .count = (uint32_t)count};
	return 0;
}

const struct json_field no_fields[] = {{0}};
const struct json_kind as_lane = {.read = read_lane};
const struct json_kind as_flow = {.read = read_flow};
const struct json_kind as_flow_range = {.read = read_flow_range};

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
command_shutdown(struct commands *c, const struct json_place *place, const json_t *request)
{
	if (json_fields_read(place, request, no_fields, NULL) < 0)
		return NULL;
	dataplane_stop(c->dp);
	return command_done();
}

static const struct command {
	const char *op;
	json_t *(*run)(struct commands *c, const struct json_place *place, const json_t *request);
	bool needs_p4; /* in the hosts role the bottleneck, and with it P4, is a switch elsewhere */
} table[] = {
	{"hello", command_hello, false},
	{"program", command_program, true},
	{"delay", command_delay, false},
	{"impair", command_impair, false},
	{"return", command_return, true},
	{"return_queue", command_return_queue, true},
	{"flows", command_flows, true},
	{"begin", command_begin, false},
	{"reset", command_reset, false},
	{"telemetry", command_telemetry, false},
	{"telemetry_stop", command_telemetry_stop, false},
	{"disturbances", command_disturbances, false},
	{"counters", command_counters, false},
	{"stats", command_stats, false},
	{"shutdown", command_shutdown, false},
};

static const struct command *
find_command(const char *op)
{
	for (size_t i = 0; op != NULL && i < RTE_DIM(table); i++)
		if (strcmp(op, table[i].op) == 0)
			return &table[i];
	return NULL;
}

static void
refuse_unknown(struct failure *failure)
{
	failure_set(failure, EXIT_STATUS_CONFIG, "op must be one of %s", table[0].op);
	for (size_t i = 1; i < RTE_DIM(table); i++)
		failure_append(failure, ", %s", table[i].op);
}

/* NULL with the failure set. */
static json_t *
dispatch(struct commands *c, json_t *request, struct failure *failure)
{
	const struct command *command =
		find_command(json_string_value(json_object_get(request, "op")));
	struct json_place place = {.context = c, .failure = failure};

	if (command == NULL) {
		refuse_unknown(failure);
		return NULL;
	}
	place.source = command->op;
	if (command->needs_p4 && c->dp->config.role == ROLE_HOSTS)
		return command_refuse(&place, "this data plane has role hosts, the bottleneck is "
					      "elsewhere");
	json_object_del(request, "op");
	return command->run(c, &place, request);
}

bool
commands_has(const char *line, size_t bytes)
{
	json_t *request = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
	bool known = request == NULL ||
		     find_command(json_string_value(json_object_get(request, "op"))) != NULL;

	json_decref(request);
	return known;
}

json_t *
commands_answer(struct commands *c, const char *line, size_t bytes)
{
	json_error_t where;
	json_t *request = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
	struct failure failure = {0};
	json_t *answer = NULL;

	if (request != NULL)
		answer = dispatch(c, request, &failure);
	else
		failure_set(&failure, EXIT_STATUS_CONFIG, "not JSON: %s", where.text);
	json_decref(request);
	return answer != NULL ? answer : json_pack("{s:b, s:s}", "ok", 0, "error", failure.text);
}
