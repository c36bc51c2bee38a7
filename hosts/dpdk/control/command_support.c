/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "common/one_line.h"
#include "version.h"

json_t *
command_refuse(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	one_line(text);
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

json_t *
command_done(void)
{
	return json_pack("{s:b}", "ok", 1);
}

json_t *
command_not_here(const char *op)
{
	return command_refuse("%s: the bottleneck is elsewhere: this data plane has role hosts",
			      op);
}

bool
command_is_lane(const struct commands *c, json_int_t lane)
{
	return lane >= 0 && lane < c->dp->config.lanes;
}

bool
command_are_flows(const struct commands *c, json_int_t first, json_int_t count)
{
	json_int_t capacity = c->dp->config.flow_capacity;

	return first >= 0 && count >= 0 && first <= capacity && count <= capacity - first;
}

json_t *
command_no_such_lane(const struct commands *c)
{
	return command_refuse("lane must be 0 to %u", c->dp->config.lanes - 1);
}

json_t *
command_no_such_flows(const struct commands *c)
{
	return command_refuse("flows must be [first, count] within 0 to %u",
			      c->dp->config.flow_capacity);
}

static json_t *
wire_description(const struct dataplane *dp, enum wire_id id)
{
	const struct wire_config *w = &dp->config.wires[id];

	return json_pack("{s:s, s:s}", "driver", driver_names[w->driver], "device", w->device);
}

static json_t *
wire_descriptions(const struct dataplane *dp)
{
	json_t *wires = json_object();

	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(&dp->config, (enum wire_id)id))
			json_object_set_new(wires, wire_names[id],
					    wire_description(dp, (enum wire_id)id));
	return wires;
}

json_t *
command_hello(struct commands *c, json_t *request)
{
	const struct dataplane *dp = c->dp;
	json_error_t where;
	const char *op;

	if (COMMAND_UNPACK(request, where, "{s:s}", "op", &op))
		return command_refuse("hello: %s", where.text);
	return json_pack("{s:b, s:s, s:s, s:i, s:I, s:i, s:i, s:s*, s:s*, s:i, s:o}", "ok", 1,
			 "version", NASHBED_VERSION, "role", role_names[dp->config.role], "pid",
			 (int)getpid(), "epoch_ns", (json_int_t)dp->epoch_ns, "lanes",
			 (int)dp->config.lanes, "flow_capacity", (int)dp->config.flow_capacity,
			 "spec_digest", dp->pipeline ? pipeline_digest(dp->pipeline) : NULL,
			 "pipeline", dp->pipeline ? pipeline_names[dp->config.pipeline] : NULL,
			 "postcard_bytes", (int)POSTCARD_BYTES, "ports", wire_descriptions(dp));
}
