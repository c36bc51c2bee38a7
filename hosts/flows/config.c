/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json_fields.h"
#include "config.h"
#include "flow_index.h"

#define DSCP_MAX 63
#define HOUR_NS (3600 * SECOND_NS)
/* Half of a new socket's receive buffer (tcp_rmem), so that SO_RCVLOWAT does not enlarge that. */
#define READ_BYTES_MAX (64 << 10)

static const char *const role_names[] = {"sender", "sink", NULL};

/* null: it comes on standard input. */
static int
read_t0(const struct json_place *place, const struct json_field *field, const json_t *value,
	void *target)
{
	return json_is_null(value) ? 0 : as_number.read(place, field, value, target);
}

static json_t *
write_t0(const struct json_field *field, const void *target)
{
	return *(const int64_t *)target == T0_FROM_STDIN ? json_null() :
							   as_number.write(field, target);
}

static const struct json_kind as_t0 = {read_t0, write_t0};

#define CONNECTION_FIELDS(type)                                                                    \
	JSON_FIELD(type, "src", source, as_sockaddr_ipv4),                                         \
		JSON_FIELD(type, "sport", source, as_sockaddr_port),                               \
		JSON_FIELD(type, "dst", destination, as_sockaddr_ipv4),                            \
		JSON_FIELD(type, "dport", destination, as_sockaddr_port)

static const struct json_field flow_fields[] = {
	JSON_FIELD(struct flow_config, "flow", flow, as_number),
	JSON_FIELD(struct flow_config, "group", group, as_number, .max = UINT16_MAX),
	JSON_FIELD(struct flow_config, "cc", cc, as_text),
	CONNECTION_FIELDS(struct flow_config),
	JSON_FIELD(struct flow_config, "start_ns", start_ns, as_number, .max = DURATION_NS_MAX),
	JSON_FIELD(struct flow_config, "process", process, as_number, .max = PROCESSES_MAX - 1,
		   .optional = true),
	JSON_FIELD(struct flow_config, "ecn", ecn, as_flag, .optional = true),
	JSON_FIELD(struct flow_config, "dscp", dscp, as_number, .max = DSCP_MAX, .optional = true),
	JSON_FIELD(struct flow_config, "bytes", bytes, as_number, .optional = true,
		   .unless_zero = true),
	JSON_FIELD(struct flow_config, "kept", kept, as_flag, .optional = true,
		   .unless_zero = true),
	{0},
};

static const struct json_field control_fields[] = {
	CONNECTION_FIELDS(struct control_config),
	{0},
};

static const struct json_field state_fields[] = {
	JSON_FIELD(struct cca_state_config, "cc", cc, as_text),
	JSON_FIELD(struct cca_state_config, "map_id", map_id, as_number),
	{0},
};

static const struct json_field flow_item = JSON_ITEM(struct flow_config, flow_fields);
static const struct json_field control_item = JSON_ITEM(struct control_config, control_fields);
static const struct json_field state_item = JSON_ITEM(struct cca_state_config, state_fields);
static const struct json_field application_item = {
	.kind = &as_object,
	.bytes = sizeof(struct application),
	.fields = application_fields,
	.check = application_check,
};

#define FIELD(key, member, how, ...) JSON_FIELD(struct config, key, member, how, ##__VA_ARGS__)
#define NS_FIELD(member, ...) FIELD(#member, member, as_number, ##__VA_ARGS__)

static const struct json_field config_fields[] = {
	FIELD("role", role, as_choice, .choices = role_names),
	FIELD("lane", lane, as_number, .max = UINT16_MAX),
	FIELD("t0_ns", t0_ns, as_t0, .max = INT64_MAX / 2, .optional = true),
	NS_FIELD(duration_ns, .min = MILLISECOND_NS, .max = DURATION_NS_MAX),
	NS_FIELD(span_ns, .max = DURATION_NS_MAX, .optional = true),
	NS_FIELD(sample_ns, .min = MILLISECOND_NS, .max = HOUR_NS, .optional = true),
	NS_FIELD(interval_ns, .min = MILLISECOND_NS, .max = HOUR_NS, .optional = true),
	NS_FIELD(drain_ns, .max = HOUR_NS, .optional = true),
	NS_FIELD(progress_ns, .max = DURATION_NS_MAX, .optional = true),
	FIELD("read_bytes", read_bytes, as_number, .min = 1, .max = READ_BYTES_MAX,
	      .optional = true),
	NS_FIELD(read_interval_ns, .max = SECOND_NS, .optional = true),
	NS_FIELD(connect_timeout_ns, .min = MILLISECOND_NS, .max = HOUR_NS, .optional = true),
	FIELD("out", out, as_string),
	JSON_LIST(struct config, "controls", controls, control_count, control_item,
		  .max = PROCESSES_MAX, .optional = true),
	JSON_LIST(struct config, "control_states", states, state_count, state_item,
		  .max = CCA_STATES_MAX, .optional = true),
	JSON_LIST(struct config, "applications", applications, application_count, application_item,
		  .max = APPLICATIONS_MAX, .optional = true),
	JSON_LIST(struct config, "flows", flows, flow_count, flow_item, .min = 1,
		  .max = FLOW_CAPACITY_MAX, .allocate = true),
	{0},
};

static const struct config config_defaults = {
	.t0_ns = T0_FROM_STDIN,
	.sample_ns = 50 * MILLISECOND_NS,
	.interval_ns = 100 * MILLISECOND_NS,
	.drain_ns = SECOND_NS,
	.read_bytes = 16 << 10,
	.connect_timeout_ns = 10 * SECOND_NS,
};

/* With control connections every flow has a process, and every process has flows. */
static int
check_processes(const struct config *config, const struct json_place *flows)
{
	size_t sizes[PROCESSES_MAX] = {0};

	for (size_t i = 0; i < config->flow_count; i++)
		sizes[config->flows[i].process]++;
	for (size_t i = 0; config->control_count > 0 && i < PROCESSES_MAX; i++)
		if ((sizes[i] > 0) != (i < config->control_count))
			return json_place_error(flows, "%zu of process %zu, where there are %zu",
						sizes[i], i, config->control_count);
	return 0;
}

int
config_load(struct config *config, const char *path, struct failure *failure)
{
	struct json_place place = {.source = path, .failure = failure};
	struct json_place flows = json_place_of_key(&place, "flows");
	json_t *root = json_load(path, failure);
	int result;

	*config = config_defaults;
	if (root == NULL)
		return -1;

	result = json_fields_read(&place, root, config_fields, config);
	json_decref(root);
	if (config->span_ns < config->duration_ns)
		config->span_ns = config->duration_ns;
	return result < 0 ? -1 : check_processes(config, &flows);
}

void
config_free(struct config *config)
{
	free(config->out);
	free(config->flows);
	config->out = NULL;
	config->flows = NULL;
	config->flow_count = 0;
}

json_t *
config_to_json(const struct config *config)
{
	return json_fields_write(config_fields, config);
}

const struct application *
config_application(const struct config *config, const struct flow_config *flow)
{
	for (size_t i = 0; i < config->application_count; i++)
		if (config->applications[i].group == flow->group)
			return &config->applications[i];
	return NULL;
}

bool
config_is_udp(const struct config *config, const struct flow_config *flow)
{
	const struct application *application = config_application(config, flow);

	return application != NULL && application->kind == APPLICATION_UDP;
}

bool
config_has(const struct config *config, enum application_kind kind)
{
	for (size_t i = 0; i < config->application_count; i++)
		if (config->applications[i].kind == kind)
			return true;
	return false;
}

const char *
flow_name(const struct flow_config *flow, char text[static FLOW_NAME_BYTES])
{
	char source[INET_ADDRSTRLEN];
	char destination[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &flow->source.sin_addr, source, sizeof(source));
	inet_ntop(AF_INET, &flow->destination.sin_addr, destination, sizeof(destination));
	snprintf(text, FLOW_NAME_BYTES, "flow %u (%s, %s:%u -> %s:%u)", flow->flow, flow->cc,
		 source, ntohs(flow->source.sin_port), destination,
		 ntohs(flow->destination.sin_port));
	return text;
}
