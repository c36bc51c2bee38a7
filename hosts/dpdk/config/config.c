/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/json_fields.h"
#include "lane_json.h"

const char *const driver_names[] = {"af_xdp", "af_packet", "tap", "pci", "virtual", NULL};
const char *const role_names[] = {"bottleneck", "hosts", NULL};
const char *const pipeline_names[] = {"auto", "native", "interpreted", NULL};
const char *const wire_names[] = {"senders", "receivers", "switch", "telemetry", NULL};

const char *
config_device(const struct wire_config *wire, uint32_t loop)
{
	return wire->devices.names[wire->devices.n == 1 ? 0 : loop];
}

bool
config_has_wire(const struct config *config, enum wire_id id)
{
	static const bool has[N_ROLES][N_WIRES] = {
		[ROLE_BOTTLENECK] = {[WIRE_SENDERS] = true, [WIRE_RECEIVERS] = true},
		[ROLE_HOSTS] =
			{[WIRE_SENDERS] = true, [WIRE_SWITCH] = true, [WIRE_TELEMETRY] = true},
	};

	return has[config->role][id];
}

static const char *const loop_names[] = {"poll", "sleep", NULL};

static bool
take_device(struct devices *devices, const json_t *value)
{
	size_t length = json_string_length(value);

	if (length == 0 || length >= NAME_BYTES || devices->n == LOOPS_MAX)
		return false;
	memcpy(devices->names[devices->n++], json_string_value(value), length + 1);
	return true;
}

/* A name, or a list of them. The driver says which of two keys has them: `min`, that a PCI device's
 * does. The target is the port.
 */
static int
read_devices(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	struct wire_config *wire = target;

	if ((wire->driver == DRIVER_PCI) != field->min)
		return -1;
	if (!json_is_array(value))
		return take_device(&wire->devices, value) ? 0 : -1;
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!take_device(&wire->devices, json_array_get(value, i)))
			return -1;
	return 0;
}

static json_t *
write_devices(const struct json_field *field, const void *target)
{
	const struct wire_config *wire = target;
	json_t *names;

	if ((wire->driver == DRIVER_PCI) != field->min)
		return NULL;
	if (wire->devices.n == 1)
		return json_string(wire->devices.names[0]);
	names = json_array();
	for (uint32_t i = 0; i < wire->devices.n; i++)
		json_array_append_new(names, json_string(wire->devices.names[i]));
	return names;
}

static const struct json_kind as_devices = {read_devices, write_devices};

static const struct json_field port_fields[] = {
	JSON_FIELD(struct wire_config, "driver", driver, as_choice, .choices = driver_names),
	{.name = "iface", .kind = &as_devices, .optional = true},
	{.name = "address", .kind = &as_devices, .min = true, .optional = true},
	{0},
};

/* Which ports there must be goes by the role. */
#define PORT(key, id)                                                                              \
	{                                                                                          \
		.name = (key), .kind = &as_object, .offset = (id) * sizeof(struct wire_config),    \
		.bytes = sizeof(struct wire_config), .fields = port_fields, .optional = true,      \
		.unless_zero = true                                                                \
	}

static const struct json_field ports_fields[] = {
	PORT("senders", WIRE_SENDERS),
	PORT("receivers", WIRE_RECEIVERS),
	PORT("switch", WIRE_SWITCH),
	PORT("telemetry", WIRE_TELEMETRY),
	{0},
};

static const struct json_field core_item = {
	.kind = &as_number, .bytes = sizeof(uint32_t), .max = CORE_MAX};

/* All keys are optional here: which of them must be there depends on the role. */
#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct config, key, member, reader, .optional = true, ##__VA_ARGS__)

static const struct json_field config_fields[] = {
	FIELD("role", role, as_choice, .choices = role_names),
	FIELD("control_socket", control_socket, as_text),
	FIELD("progress", progress, as_text, .unless_zero = true),
	JSON_LIST(struct config, "cores", cores, n_loops, core_item, .min = 1, .max = LOOPS_MAX,
		  .optional = true),
	FIELD("service_core", service_core, as_number, .max = CORE_MAX),
	FIELD("loop", loop, as_choice, .choices = loop_names),
	FIELD("huge_pages", huge_pages, as_flag),
	FIELD("memory_mb", memory_mb, as_number, .min = 64, .max = MEMORY_MIB_MAX),
	FIELD("lanes", lanes, as_number, .min = 1, .max = LANES_MAX),
	FIELD("flow_capacity", flow_capacity, as_number, .min = 1, .max = FLOW_CAPACITY_MAX),
	FIELD("queue_packets", queue_packets, as_number, .min = QUEUE_PACKETS_MIN,
	      .max = QUEUE_PACKETS_MAX),
	FIELD("spec", spec, as_text, .unless_zero = true),
	FIELD("pipeline", pipeline, as_choice, .choices = pipeline_names),
	FIELD("ports", wires, as_object, .fields = ports_fields),
	FIELD("bottleneck", bottleneck, as_object, .fields = lane_config_fields,
	      .check = lane_check, .unless_zero = true),
	{0},
};

static const struct config config_defaults = {
	.cores = {1},
	.n_loops = 1,
	.huge_pages = true,
	.memory_mb = 512,
	.lanes = LANES_MAX,
	.flow_capacity = FLOW_CAPACITY_MAX,
	.queue_packets = 131072,
};

static int
require(const struct json_place *place, bool is_there, const char *key)
{
	struct json_place inner = json_place_of_key(place, key);

	return is_there ? 0 : json_place_error(&inner, "is missing");
}

/* Two loops never use one device. A switch's postcards are one stream, for the first loop; and in
 * virtual time there are no queues.
 */
static uint32_t
devices_wanted(const struct config *config, enum wire_id id)
{
	if (!config_has_wire(config, id))
		return 0;
	return id == WIRE_TELEMETRY || config->wires[id].driver == DRIVER_VIRTUAL ? 1 :
										    config->n_loops;
}

static int
check_ports(const struct json_place *place, const struct config *config)
{
	struct json_place ports = json_place_of_key(place, "ports");

	for (int id = 0; id < N_WIRES; id++) {
		struct json_place port = json_place_of_key(&ports, wire_names[id]);
		uint32_t wanted = devices_wanted(config, (enum wire_id)id);

		if (config->wires[id].devices.n != wanted)
			return json_place_error(&port,
						"has %u devices, needs %u: role %s, %u packet "
						"loops",
						config->wires[id].devices.n, wanted,
						role_names[config->role], config->n_loops);
	}
	return 0;
}

static int
check(const struct json_place *place, const struct config *config)
{
	struct json_place role = json_place_of_key(place, "role");

	if (config->role == ROLE_BOTTLENECK && require(place, config->spec[0] != '\0', "spec") < 0)
		return -1;
	if (config->offline && config->role != ROLE_BOTTLENECK)
		return json_place_error(&role, "a replay needs the bottleneck");
	if (config->offline)
		return require(place, config->bottleneck.rate_bps > 0, "bottleneck");
	if (require(place, config->control_socket[0] != '\0', "control_socket") < 0)
		return -1;
	return check_ports(place, config);
}

/* What is driven by a capture or by a benchmark: in virtual time, in ordinary memory. */
static void
go_offline(struct config *config)
{
	config->lanes = 1;
	config->huge_pages = false;
	for (int id = 0; id < N_WIRES; id++)
		config->wires[id] = (struct wire_config){.driver = DRIVER_VIRTUAL};
}

int
config_read(const char *path, bool offline, struct config *config, struct failure *failure)
{
	struct json_place place = {.source = path, .failure = failure};
	json_t *root = json_load(path, failure);
	int result = -1;

	if (root == NULL)
		return -1;
	*config = config_defaults;
	config->offline = offline;
	if (json_fields_read(&place, root, config_fields, config) == 0)
		result = check(&place, config);
	if (offline)
		go_offline(config);
	json_decref(root);
	return result;
}

void
config_print(const struct config *config)
{
	json_t *root = json_fields_write(config_fields, config);

	if (config->role == ROLE_HOSTS)
		json_object_del(root, "pipeline");
	json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
}
