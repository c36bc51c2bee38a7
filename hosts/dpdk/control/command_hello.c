/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What this data plane is: version, role, clock, sizes, ports. */
#include <unistd.h>

#include "command.h"

static json_t *
wire_description(const struct dataplane *dp, enum wire_id id)
{
	const struct wire_config *w = &dp->config.wires[id];
	/* A guest's kernel hands a frame over at the moment of its arrival. */
	bool stamps = dp->wires[id].stamps || w->driver == DRIVER_VIRTUAL;

	return json_pack("{s:s, s:s, s:s}", "driver", driver_names[w->driver], "device", w->device,
			 "stamps", stamps ? "kernel" : "none");
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
command_hello(struct commands *c, const struct json_place *place, const json_t *request)
{
	const struct dataplane *dp = c->dp;

	if (json_fields_read(place, request, NULL, 0, NULL) < 0)
		return NULL;
	return json_pack("{s:b, s:s, s:s, s:i, s:I, s:i, s:i, s:s*, s:s*, s:i, s:o}", "ok", 1,
			 "version", NASHBED_VERSION, "role", role_names[dp->config.role], "pid",
			 (int)getpid(), "epoch_ns", (json_int_t)dp->epoch_ns, "lanes",
			 (int)dp->config.lanes, "flow_capacity", (int)dp->config.flow_capacity,
			 "spec_digest", dp->pipeline ? pipeline_digest(dp->pipeline) : NULL,
			 "pipeline", dp->pipeline ? pipeline_names[dp->config.pipeline] : NULL,
			 "postcard_bytes", (int)POSTCARD_BYTES, "ports", wire_descriptions(dp));
}
