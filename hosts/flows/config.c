/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json_fields.h"
#include "config.h"
#include "flow_index.h"

#define HOUR_NS (3600 * SECOND_NS)
/* Half of a new socket's receive buffer (tcp_rmem), so that SO_RCVLOWAT does not enlarge that. */
#define READ_BYTES_MAX (64 << 10)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const role_names[] = {"sender", "sink", NULL};

static int
read_t0(const struct json_place *place, const struct json_field *field, const json_t *value,
	void *target)
{
	return json_is_null(value) ? 0 : json_read_i64(place, field, value, target);
}

static int
read_cc(const struct json_place *place, const struct json_field *field, const json_t *value,
	void *target)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	(void)field;
	if (text == NULL || length == 0 || length >= CC_NAME_BYTES)
		return json_place_error(place,
					"must be a congestion control's name of 1 to %d "
					"characters",
					CC_NAME_BYTES - 1);
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("_-.", text[i]) == NULL)
			return json_place_error(place, "a congestion control's name has only "
						       "letters, digits, '_', '-' and '.'");
	memcpy(target, text, length + 1);
	return 0;
}

static int
read_address(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	const struct sockaddr_in *address = target;

	if (json_read_sockaddr_ipv4(place, field, value, target) < 0)
		return -1;
	if (address->sin_addr.s_addr == htonl(INADDR_ANY))
		return json_place_error(place, JSON_IPV4_EXPECTED);
	return 0;
}

#define FLOW_FIELD(key, member, reader, least, most)                                               \
	{                                                                                          \
		.name = key, .offset = offsetof(struct flow_config, member), .read = reader,       \
		.min = least, .max = most,                                                         \
	}

static const struct json_field flow_fields[] = {
	FLOW_FIELD("flow", flow, json_read_u32, 0, UINT32_MAX),
	FLOW_FIELD("group", group, json_read_u32, 0, UINT16_MAX),
	FLOW_FIELD("cc", cc, read_cc, 0, 0),
	FLOW_FIELD("src", source, read_address, 0, 0),
	FLOW_FIELD("sport", source, json_read_sockaddr_port, 1, UINT16_MAX),
	FLOW_FIELD("dst", destination, read_address, 0, 0),
	FLOW_FIELD("dport", destination, json_read_sockaddr_port, 1, UINT16_MAX),
	FLOW_FIELD("start_ns", start_ns, json_read_i64, 0, DURATION_NS_MAX),
	{
		.name = "process",
		.offset = offsetof(struct flow_config, process),
		.read = json_read_u32,
		.max = PROCESSES_MAX - 1,
		.optional = true,
	},
};

static int
read_flows(const struct json_place *place, const struct json_field *field, const json_t *value,
	   void *target)
{
	struct config *config = (struct config *)((char *)target - field->offset);
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count == 0 || count > FLOW_CAPACITY_MAX)
		return json_place_error(place, "must be a list of 1 to %u flows",
					FLOW_CAPACITY_MAX);

	config->flows = calloc(count, sizeof(*config->flows));
	if (config->flows == NULL)
		return failure_set(place->failure, EXIT_STATUS_HOST, "out of memory");
	config->flow_count = count;

	for (size_t i = 0; i < count; i++) {
		struct json_place inner = json_place_of_item(place, i);

		if (json_fields_read(&inner, json_array_get(value, i), flow_fields,
				     COUNT(flow_fields), &config->flows[i]) < 0)
			return -1;
	}
	return 0;
}

#define CONTROL_FIELD(key, member, reader, least, most)                                            \
	{                                                                                          \
		.name = key, .offset = offsetof(struct control_config, member), .read = reader,    \
		.min = least, .max = most,                                                         \
	}

static const struct json_field control_fields[] = {
	CONTROL_FIELD("src", source, read_address, 0, 0),
	CONTROL_FIELD("sport", source, json_read_sockaddr_port, 1, UINT16_MAX),
	CONTROL_FIELD("dst", destination, read_address, 0, 0),
	CONTROL_FIELD("dport", destination, json_read_sockaddr_port, 1, UINT16_MAX),
};

static int
read_controls(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	struct config *config = (struct config *)((char *)target - field->offset);
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count > PROCESSES_MAX)
		return json_place_error(place, "must be a list of at most %d control connections",
					PROCESSES_MAX);

	config->control_count = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place inner = json_place_of_item(place, i);

		if (json_fields_read(&inner, json_array_get(value, i), control_fields,
				     COUNT(control_fields), &config->controls[i]) < 0)
			return -1;
	}
	return 0;
}

static const struct json_field state_fields[] = {
	{
		.name = "cc",
		.offset = offsetof(struct control_state_config, cc),
		.read = read_cc,
	},
	{
		.name = "map_id",
		.offset = offsetof(struct control_state_config, map_id),
		.read = json_read_u32,
		.min = 1,
		.max = UINT32_MAX,
	},
};

static int
read_states(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	struct config *config = (struct config *)((char *)target - field->offset);
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count > CONTROL_STATES_MAX)
		return json_place_error(place, "must be a list of at most %d congestion controls",
					CONTROL_STATES_MAX);

	config->state_count = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place inner = json_place_of_item(place, i);

		if (json_fields_read(&inner, json_array_get(value, i), state_fields,
				     COUNT(state_fields), &config->states[i]) < 0)
			return -1;
	}
	return 0;
}

#define CONFIG_FIELD(key, member, reader, least, most, may_miss)                                   \
	{                                                                                          \
		.name = key, .offset = offsetof(struct config, member), .read = reader,            \
		.min = least, .max = most, .optional = may_miss,                                   \
	}

static const struct json_field config_fields[] = {
	{.name = "role",
	 .offset = offsetof(struct config, role),
	 .read = json_read_choice,
	 .choices = role_names},
	CONFIG_FIELD("lane", lane, json_read_u32, 0, UINT16_MAX, false),
	CONFIG_FIELD("t0_ns", t0_ns, read_t0, 0, INT64_MAX / 2, true),
	CONFIG_FIELD("duration_ns", duration_ns, json_read_i64, MILLISECOND_NS, DURATION_NS_MAX,
		     false),
	CONFIG_FIELD("span_ns", span_ns, json_read_i64, 0, DURATION_NS_MAX, true),
	CONFIG_FIELD("sample_ns", sample_ns, json_read_i64, MILLISECOND_NS, HOUR_NS, true),
	CONFIG_FIELD("interval_ns", interval_ns, json_read_i64, MILLISECOND_NS, HOUR_NS, true),
	CONFIG_FIELD("drain_ns", drain_ns, json_read_i64, 0, HOUR_NS, true),
	CONFIG_FIELD("progress_ns", progress_ns, json_read_i64, 0, DURATION_NS_MAX, true),
	CONFIG_FIELD("read_bytes", read_bytes, json_read_u32, 1, READ_BYTES_MAX, true),
	CONFIG_FIELD("read_interval_ns", read_interval_ns, json_read_i64, 0, SECOND_NS, true),
	CONFIG_FIELD("connect_timeout_ns", connect_timeout_ns, json_read_i64, MILLISECOND_NS,
		     HOUR_NS, true),
	CONFIG_FIELD("out", out, json_read_string, 0, 0, false),
	CONFIG_FIELD("controls", controls, read_controls, 0, 0, true),
	CONFIG_FIELD("control_states", states, read_states, 0, 0, true),
	CONFIG_FIELD("flows", flows, read_flows, 0, 0, false),
};

static const struct config config_defaults = {
	.t0_ns = T0_FROM_STDIN,
	.sample_ns = 50 * MILLISECOND_NS,
	.interval_ns = 100 * MILLISECOND_NS,
	.drain_ns = SECOND_NS,
	.read_bytes = 16 << 10,
	.connect_timeout_ns = 10 * SECOND_NS,
};

static int
refuse_late_starts(const struct config *config, const struct json_place *flows)
{
	for (size_t i = 0; i < config->flow_count; i++) {
		struct json_place place = json_place_of_item(flows, i);

		place.key = "start_ns";
		if (config->flows[i].start_ns >= config->duration_ns)
			return json_place_error(&place, "must be less than duration_ns");
	}
	return 0;
}

/* No two flows may share their key; what names the key in the message. */
static int
refuse_duplicates(const struct config *config, uint64_t (*key_of)(const struct flow_config *flow),
		  const char *what, const struct json_place *flows)
{
	struct flow_index index;
	size_t first;
	size_t second;
	int result = 0;

	if (flow_index_build(&index, config, key_of, flows->failure) < 0)
		return -1;
	if (flow_index_duplicate(&index, &first, &second)) {
		struct json_place place = json_place_of_item(flows, second);

		result = json_place_error(&place, "has the same %s as flows[%zu]", what, first);
	}
	flow_index_free(&index);
	return result;
}

/* With control connections every process has flows, and every flow has a process. */
static int
refuse_wrong_processes(const struct config *config, const struct json_place *flows)
{
	size_t sizes[PROCESSES_MAX] = {0};

	for (size_t i = 0; i < config->flow_count; i++) {
		struct json_place place = json_place_of_item(flows, i);

		place.key = "process";
		if (config->flows[i].process >= config->control_count)
			return json_place_error(&place,
						"must be less than %zu, the number of "
						"control connections",
						config->control_count);
		sizes[config->flows[i].process]++;
	}
	for (size_t i = 0; i < config->control_count; i++)
		if (sizes[i] == 0)
			return json_place_error(flows, "has no flow of process %zu", i);
	return 0;
}

static int
check_flows(const struct config *config, const struct json_place *flows)
{
	if (config->control_count > 0 && refuse_wrong_processes(config, flows) < 0)
		return -1;
	if (refuse_late_starts(config, flows) < 0)
		return -1;
	if (refuse_duplicates(config, flow_key_number, "flow", flows) < 0)
		return -1;
	return refuse_duplicates(config, flow_key_source, "src and sport", flows);
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

	result = json_fields_read(&place, root, config_fields, COUNT(config_fields), config);
	json_decref(root);
	if (config->span_ns < config->duration_ns)
		config->span_ns = config->duration_ns;
	return result < 0 ? -1 : check_flows(config, &flows);
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
