/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lane_json.h"

const char *const driver_names[] = {"af_xdp", "af_packet", "tap", "pci"};
const char *const role_names[] = {"bottleneck", "hosts"};
const char *const pipeline_names[] = {"auto", "native", "interpreted"};
const char *const wire_names[] = {"senders", "receivers", "switch", "telemetry"};

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

struct context {
	const char *path;
	char *error;
	size_t error_bytes;
};

static int
refuse(const struct context *c, const char *format, ...)
{
	va_list arguments;
	int used = snprintf(c->error, c->error_bytes, "%s: ", c->path);

	va_start(arguments, format);
	if (used > 0 && (size_t)used < c->error_bytes)
		vsnprintf(c->error + used, c->error_bytes - (size_t)used, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static int
check_keys(const struct context *c, json_t *object, const char *where, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		const char *const *k = known;

		while (*k != NULL && strcmp(*k, key) != 0)
			k++;
		if (*k == NULL)
			return refuse(c, "%s%s is not a key of this file", where, key);
	}
	return 0;
}

static int
get_text(const struct context *c, json_t *object, const char *key, char *text, size_t bytes)
{
	const char *value = json_string_value(json_object_get(object, key));

	if (value == NULL || value[0] == '\0' || strlen(value) >= bytes)
		return refuse(c, "%s must be a text of 1 to %zu characters", key, bytes - 1);
	snprintf(text, bytes, "%s", value);
	return 0;
}

/* A number from low to high; left as it is where the key is absent. */
static int
get_number(const struct context *c, json_t *object, const char *key, uint64_t low, uint64_t high,
	   uint32_t *number)
{
	json_t *value = json_object_get(object, key);

	if (value == NULL)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)low ||
	    json_integer_value(value) > (json_int_t)high)
		return refuse(c, "%s must be a whole number from %ju to %ju", key, (uintmax_t)low,
			      (uintmax_t)high);
	*number = (uint32_t)json_integer_value(value);
	return 0;
}

static int
get_flag(const struct context *c, json_t *object, const char *key, bool *flag)
{
	json_t *value = json_object_get(object, key);

	if (value == NULL)
		return 0;
	if (!json_is_boolean(value))
		return refuse(c, "%s must be true or false", key);
	*flag = json_is_true(value);
	return 0;
}

static int
get_choice(const struct context *c, json_t *object, const char *key, const char *const *names,
	   size_t n, uint32_t *choice)
{
	const char *value = json_string_value(json_object_get(object, key));

	for (size_t i = 0; value != NULL && i < n; i++) {
		if (strcmp(value, names[i]) == 0) {
			*choice = (uint32_t)i;
			return 0;
		}
	}
	return refuse(c, "%s '%s' is not known here", key, value ? value : "");
}

static int
read_wire(const struct context *c, json_t *ports, enum wire_id id, struct wire_config *wire)
{
	static const char *const keys[] = {"driver", "iface", "address", NULL};
	json_t *object = json_object_get(ports, wire_names[id]);
	uint32_t driver = 0;
	int error;

	if (!json_is_object(object))
		return refuse(c, "ports.%s is missing", wire_names[id]);
	error = check_keys(c, object, "ports.", keys);
	if (!error)
		error = get_choice(c, object, "driver", driver_names, 4, &driver);
	if (error)
		return error;
	wire->driver = (enum driver)driver;
	return get_text(c, object, driver == DRIVER_PCI ? "address" : "iface", wire->device,
			sizeof(wire->device));
}

static int
read_wires(const struct context *c, json_t *root, struct config *config)
{
	const char *keys[N_WIRES + 1] = {NULL};
	json_t *ports = json_object_get(root, "ports");
	int error, n = 0;

	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(config, (enum wire_id)id))
			keys[n++] = wire_names[id];
	if (!json_is_object(ports))
		return refuse(c, "ports is missing");
	error = check_keys(c, ports, "ports.", keys);
	for (int id = 0; !error && id < N_WIRES; id++)
		if (config_has_wire(config, (enum wire_id)id))
			error = read_wire(c, ports, (enum wire_id)id, &config->wires[id]);
	return error;
}

static int
read_replay_lane(const struct context *c, json_t *root, struct config *config)
{
	char reason[128];

	if (lane_json_read(json_object_get(root, "bottleneck"), &config->replay_lane, reason,
			   sizeof(reason)) < 0)
		return refuse(c, "bottleneck: %s", reason);
	return 0;
}

static int
read_program(const struct context *c, json_t *root, struct config *config)
{
	uint32_t choice = PIPELINE_AUTO;

	if (json_object_get(root, "pipeline") != NULL &&
	    get_choice(c, root, "pipeline", pipeline_names, N_PIPELINE_MODES, &choice) < 0)
		return -EINVAL;
	config->pipeline = (enum pipeline_mode)choice;
	return get_text(c, root, "spec", config->spec, sizeof(config->spec));
}

/* Left as it is where the key is absent. */
static int
read_role(const struct context *c, json_t *root, bool replay, struct config *config)
{
	uint32_t choice = ROLE_BOTTLENECK;

	if (json_object_get(root, "role") != NULL &&
	    get_choice(c, root, "role", role_names, N_ROLES, &choice) < 0)
		return -EINVAL;
	config->role = (enum role)choice;
	if (config->role == ROLE_BOTTLENECK)
		return read_program(c, root, config);
	if (replay)
		return refuse(c, "role: a replay needs the bottleneck");
	if (json_object_get(root, "spec") != NULL)
		return refuse(c, "spec: role hosts runs no P4 program; remove it");
	if (json_object_get(root, "pipeline") != NULL)
		return refuse(c, "pipeline: role hosts runs no P4 program; remove it");
	return 0;
}

static int
read_loop(const struct context *c, json_t *root, struct config *config)
{
	static const char *const loops[] = {"poll", "sleep"};
	uint32_t choice = 0;

	if (json_object_get(root, "loop") != NULL &&
	    get_choice(c, root, "loop", loops, 2, &choice) < 0)
		return -EINVAL;
	config->sleep = choice == 1;
	return 0;
}

static int
read_numbers(const struct context *c, json_t *root, struct config *config)
{
	int error = get_number(c, root, "core", 0, 1023, &config->core);

	if (!error)
		error = get_number(c, root, "service_core", 0, 1023, &config->service_core);
	if (!error)
		error = get_number(c, root, "memory_mb", 64, 1u << 20, &config->memory_mb);
	if (!error)
		error = get_number(c, root, "lanes", 1, LANES_MAX, &config->lanes);
	if (!error)
		error = get_number(c, root, "flow_capacity", 1, FLOW_CAPACITY_MAX,
				   &config->flow_capacity);
	if (!error)
		error = get_number(c, root, "queue_packets", 1024, 1u << 26,
				   &config->queue_packets);
	if (!error)
		error = get_flag(c, root, "huge_pages", &config->huge_pages);
	return error;
}

static int
read_root(const struct context *c, json_t *root, bool replay, struct config *config)
{
	static const char *const keys[] = {
		"spec",	      "control_socket", "core",	 "service_core",  "loop",
		"huge_pages", "memory_mb",	"lanes", "flow_capacity", "queue_packets",
		"ports",      "bottleneck",	"role",	 "pipeline",	  NULL,
	};
	int error;

	if (!json_is_object(root))
		return refuse(c, "expected one JSON object");
	error = check_keys(c, root, "", keys);
	if (!error)
		error = read_role(c, root, replay, config);
	if (!error)
		error = read_numbers(c, root, config);
	if (!error)
		error = read_loop(c, root, config);
	if (error || replay)
		return error ? error : read_replay_lane(c, root, config);
	error = get_text(c, root, "control_socket", config->control_socket,
			 sizeof(config->control_socket));
	return error ? error : read_wires(c, root, config);
}

int
config_read(const char *path, bool replay, struct config *config, char *error, size_t error_bytes)
{
	struct context c = {.path = path, .error = error, .error_bytes = error_bytes};
	json_error_t where;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	int result;

	*config = (struct config){
		.core = 1,
		.huge_pages = true,
		.memory_mb = 512,
		.lanes = LANES_MAX,
		.flow_capacity = FLOW_CAPACITY_MAX,
		.queue_packets = 131072,
	};
	if (root == NULL && where.line > 0)
		return refuse(&c, "line %d: %s", where.line, where.text);
	if (root == NULL)
		return refuse(&c, "%s", where.text);
	result = read_root(&c, root, replay, config);
	json_decref(root);
	return result;
}

static json_t *
wire_json(const struct wire_config *wire)
{
	return json_pack("{s:s, s:s}", "driver", driver_names[wire->driver],
			 wire->driver == DRIVER_PCI ? "address" : "iface", wire->device);
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
		json_pack("{s:s, s:s, s:i, s:i, s:s, s:b, s:i, s:i, s:i, s:i}", "role",
			  role_names[config->role], "control_socket", config->control_socket,
			  "core", (int)config->core, "service_core", (int)config->service_core,
			  "loop", config->sleep ? "sleep" : "poll", "huge_pages",
			  config->huge_pages, "memory_mb", (int)config->memory_mb, "lanes",
			  (int)config->lanes, "flow_capacity", (int)config->flow_capacity,
			  "queue_packets", (int)config->queue_packets);

	if (config->role == ROLE_BOTTLENECK) {
		json_object_set_new(root, "spec", json_string(config->spec));
		json_object_set_new(root, "pipeline",
				    json_string(pipeline_names[config->pipeline]));
	}
	if (config->replay_lane.rate_bps)
		json_object_set_new(root, "bottleneck", lane_json_write(&config->replay_lane));
	else
		json_object_set_new(root, "ports", wires_json(config));
	json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
}
