/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/json_fields.h"
#include "discipline_json.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* A port as it is written: the driver says which of the two names its device. */
struct port_entry {
	enum driver driver;
	struct devices iface;
	struct devices address;
};

static bool
take_device(struct devices *devices, const json_t *value)
{
	const char *name = json_string_value(value);

	if (name == NULL || name[0] == '\0' || strlen(name) >= NAME_BYTES)
		return false;
	snprintf(devices->names[devices->n++], NAME_BYTES, "%s", name);
	return true;
}

/* A name, or a list of them. */
static int
read_devices(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	struct devices *devices = target;
	size_t n = json_array_size(value);
	bool sound = json_is_array(value) ? n > 0 && n <= LOOPS_MAX : take_device(devices, value);

	(void)field;
	for (size_t i = 0; sound && i < n; i++)
		sound = take_device(devices, json_array_get(value, i));
	if (sound)
		return 0;
	return json_place_error(place,
				"must be a name of 1 to %d characters, or a list of 1 to %u names",
				NAME_BYTES - 1, LOOPS_MAX);
}

static const struct json_field port_fields[] = {
	JSON_FIELD(struct port_entry, "driver", driver, json_read_choice, .choices = driver_names),
	JSON_FIELD(struct port_entry, "iface", iface, read_devices, .optional = true),
	JSON_FIELD(struct port_entry, "address", address, read_devices, .optional = true),
};

static int
read_port(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	struct json_place inner = json_place_inside(place);
	struct wire_config *wire = target;
	struct port_entry entry = {0};
	const struct devices *devices;

	(void)field;
	if (json_fields_read(&inner, value, port_fields, COUNT(port_fields), &entry) < 0)
		return -1;
	inner.key = entry.driver == DRIVER_PCI ? "address" : "iface";
	devices = entry.driver == DRIVER_PCI ? &entry.address : &entry.iface;
	if (devices->n == 0)
		return json_place_error(&inner, "is missing");
	wire->driver = entry.driver;
	wire->devices = *devices;
	return 0;
}

/* The target is the wires' array. Which of them there must be goes by the role. */
static int
read_ports(const struct json_place *place, const struct json_field *field, const json_t *value,
	   void *target)
{
	struct json_place inner = json_place_inside(place);
	struct json_field ports[N_WIRES];

	(void)field;
	for (int id = 0; id < N_WIRES; id++)
		ports[id] = (struct json_field){
			.name = wire_names[id],
			.read = read_port,
			.offset = (size_t)id * sizeof(struct wire_config),
			.optional = true,
		};
	return json_fields_read(&inner, value, ports, COUNT(ports), target);
}

/* The target is the configuration's cores. */
static int
read_cores(const struct json_place *place, const struct json_field *field, const json_t *value,
	   void *target)
{
	struct config *config = (struct config *)((char *)target - field->offset);
	size_t n = json_array_size(value);

	if (!json_is_array(value) || n == 0 || n > LOOPS_MAX)
		return json_place_error(place, "must be a list of 1 to %u cores", LOOPS_MAX);
	for (config->n_loops = 0; config->n_loops < n; config->n_loops++) {
		uint32_t *core = &config->cores[config->n_loops];

		if (json_read_u32(place, field, json_array_get(value, config->n_loops), core) < 0)
			return -1;
		for (const uint32_t *other = config->cores; other < core; other++)
			if (*other == *core)
				return json_place_error(place, "has core %u twice", *core);
	}
	return 0;
}

/* All keys are optional here: which of them must be there depends on the role. */
#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct config, key, member, reader, .optional = true, ##__VA_ARGS__)

static const struct json_field config_fields[] = {
	FIELD("role", role, json_read_choice, .choices = role_names),
	FIELD("spec", spec, json_read_text, .max = PATH_BYTES),
	FIELD("pipeline", pipeline, json_read_choice, .choices = pipeline_names),
	FIELD("control_socket", control_socket, json_read_text, .max = PATH_BYTES),
	FIELD("progress", progress, json_read_text, .max = PATH_BYTES),
	FIELD("cores", cores, read_cores, .max = CORE_MAX),
	FIELD("service_core", service_core, json_read_u32, .max = CORE_MAX),
	FIELD("loop", loop, json_read_choice, .choices = loop_names),
	FIELD("huge_pages", huge_pages, json_read_bool),
	FIELD("memory_mb", memory_mb, json_read_u32, .min = 64, .max = MEMORY_MIB_MAX),
	FIELD("lanes", lanes, json_read_u32, .min = 1, .max = LANES_MAX),
	FIELD("flow_capacity", flow_capacity, json_read_u32, .min = 1, .max = FLOW_CAPACITY_MAX),
	FIELD("queue_packets", queue_packets, json_read_u32, .min = QUEUE_PACKETS_MIN,
	      .max = QUEUE_PACKETS_MAX),
	FIELD("ports", wires, read_ports),
	FIELD("bottleneck", bottleneck, discipline_json_read),
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
require(const struct json_place *place, const json_t *root, const char *key)
{
	struct json_place inner = json_place_of_key(place, key);

	return json_object_get(root, key) != NULL ? 0 : json_place_error(&inner, "is missing");
}

static int
refuse_p4(const struct json_place *place, const json_t *root, const char *key)
{
	struct json_place inner = json_place_of_key(place, key);

	return json_object_get(root, key) == NULL ?
		       0 :
		       json_place_error(&inner, "role hosts runs no P4 program; remove it");
}

static int
check_role(const struct json_place *place, const json_t *root, const struct config *config)
{
	struct json_place role = json_place_of_key(place, "role");

	if (config->role == ROLE_BOTTLENECK)
		return require(place, root, "spec");
	if (config->offline)
		return json_place_error(&role, "a replay needs the bottleneck");
	return refuse_p4(place, root, "spec") < 0 ? -1 : refuse_p4(place, root, "pipeline");
}

/* Two loops never use one device. A switch's postcards are one stream, for the first loop; and in
 * virtual time there are no queues.
 */
static int
check_devices(const struct json_place *port, const struct config *config, enum wire_id id)
{
	const struct wire_config *wire = &config->wires[id];
	uint32_t wanted =
		id == WIRE_TELEMETRY || wire->driver == DRIVER_VIRTUAL ? 1 : config->n_loops;

	if (wire->devices.n == wanted)
		return 0;
	return json_place_error(port, "names %u devices for %u packet loops; name one for each",
				wire->devices.n, wanted);
}

static int
check_ports(const struct json_place *place, const struct config *config)
{
	struct json_place ports = json_place_of_key(place, "ports");

	for (int id = 0; id < N_WIRES; id++) {
		struct json_place port = json_place_inside(&ports);
		bool given = config->wires[id].devices.n > 0;
		bool expected = config_has_wire(config, (enum wire_id)id);

		port.key = wire_names[id];
		if (expected && !given)
			return json_place_error(&port, "is missing");
		if (given && !expected)
			return json_place_error(&port, "role %s has no such port",
						role_names[config->role]);
		if (given && check_devices(&port, config, (enum wire_id)id) < 0)
			return -1;
	}
	return 0;
}

static int
check(const struct json_place *place, const json_t *root, const struct config *config)
{
	if (check_role(place, root, config) < 0)
		return -1;
	if (config->offline)
		return require(place, root, "bottleneck");
	if (require(place, root, "control_socket") < 0 || require(place, root, "ports") < 0)
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
	if (json_fields_read(&place, root, config_fields, COUNT(config_fields), config) == 0)
		result = check(&place, root, config);
	if (offline)
		go_offline(config);
	json_decref(root);
	return result;
}

static json_t *
devices_json(const struct devices *devices)
{
	json_t *names = json_array();

	if (devices->n == 1) {
		json_decref(names);
		return json_string(devices->names[0]);
	}
	for (uint32_t i = 0; i < devices->n; i++)
		json_array_append_new(names, json_string(devices->names[i]));
	return names;
}

static json_t *
wire_json(const struct wire_config *wire)
{
	return json_pack("{s:s, s:o}", "driver", driver_names[wire->driver],
			 wire->driver == DRIVER_PCI ? "address" : "iface",
			 devices_json(&wire->devices));
}

static json_t *
cores_json(const struct config *config)
{
	json_t *cores = json_array();

	for (uint32_t i = 0; i < config->n_loops; i++)
		json_array_append_new(cores, json_integer(config->cores[i]));
	return cores;
}

static json_t *
wires_json(const struct config *config)
{
	json_t *ports = json_object();

	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(config, (enum wire_id)id))
			json_object_set_new(ports, wire_names[id], wire_json(&config->wires[id]));
	return ports;
}

void
config_print(const struct config *config)
{
	json_t *root =
		json_pack("{s:s, s:s, s:o, s:i, s:s, s:b, s:i, s:i, s:i, s:i}", "role",
			  role_names[config->role], "control_socket", config->control_socket,
			  "cores", cores_json(config), "service_core", (int)config->service_core,
			  "loop", loop_names[config->loop], "huge_pages", config->huge_pages,
			  "memory_mb", (int)config->memory_mb, "lanes", (int)config->lanes,
			  "flow_capacity", (int)config->flow_capacity, "queue_packets",
			  (int)config->queue_packets);

	if (config->role == ROLE_BOTTLENECK) {
		json_object_set_new(root, "spec", json_string(config->spec));
		json_object_set_new(root, "pipeline",
				    json_string(pipeline_names[config->pipeline]));
	}
	json_object_set_new(root, "ports", wires_json(config));
	json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
}
