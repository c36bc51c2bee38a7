/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <ctype.h>
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

static const struct json_field flow_fields[] = {
	JSON_FIELD(struct flow_config, "flow", flow, json_read_u32, .max = UINT32_MAX),
	JSON_FIELD(struct flow_config, "group", group, json_read_u32, .max = UINT16_MAX),
	JSON_FIELD(struct flow_config, "cc", cc, read_cc),
	JSON_FIELD(struct flow_config, "src", source, read_address),
	JSON_FIELD(struct flow_config, "sport", source, json_read_sockaddr_port, .min = 1,
		   .max = UINT16_MAX),
	JSON_FIELD(struct flow_config, "dst", destination, read_address),
	JSON_FIELD(struct flow_config, "dport", destination, json_read_sockaddr_port, .min = 1,
		   .max = UINT16_MAX),
	JSON_FIELD(struct flow_config, "start_ns", start_ns, json_read_i64, .max = DURATION_NS_MAX),
	JSON_FIELD(struct flow_config, "process", process, json_read_u32, .max = PROCESSES_MAX - 1,
		   .optional = true),
	JSON_FIELD(struct flow_config, "ecn", ecn, json_read_bool, .optional = true),
	JSON_FIELD(struct flow_config, "dscp", dscp, json_read_u8, .max = DSCP_MAX,
		   .optional = true),
	JSON_FIELD(struct flow_config, "bytes", bytes, json_read_i64, .min = 1, .max = INT64_MAX,
		   .optional = true),
	JSON_FIELD(struct flow_config, "kept", kept, json_read_bool, .optional = true),
};

static const struct json_list flow_list = {
	.items = "flows",
	.fields = flow_fields,
	.n_fields = COUNT(flow_fields),
	.item_bytes = sizeof(struct flow_config),
	.count_offset = offsetof(struct config, flow_count),
	.allocate = true,
};

static const struct json_field control_fields[] = {
	JSON_FIELD(struct control_config, "src", source, read_address),
	JSON_FIELD(struct control_config, "sport", source, json_read_sockaddr_port, .min = 1,
		   .max = UINT16_MAX),
	JSON_FIELD(struct control_config, "dst", destination, read_address),
	JSON_FIELD(struct control_config, "dport", destination, json_read_sockaddr_port, .min = 1,
		   .max = UINT16_MAX),
};

static const struct json_list control_list = {
	.items = "control connections",
	.fields = control_fields,
	.n_fields = COUNT(control_fields),
	.item_bytes = sizeof(struct control_config),
	.count_offset = offsetof(struct config, control_count),
};

static const struct json_field state_fields[] = {
	JSON_FIELD(struct cca_state_config, "cc", cc, read_cc),
	JSON_FIELD(struct cca_state_config, "map_id", map_id, json_read_u32, .min = 1,
		   .max = UINT32_MAX),
};

static const struct json_list state_list = {
	.items = "congestion controls",
	.fields = state_fields,
	.n_fields = COUNT(state_fields),
	.item_bytes = sizeof(struct cca_state_config),
	.count_offset = offsetof(struct config, state_count),
};

static const struct json_list application_list = {
	.items = "applications",
	.fields = application_fields,
	.n_fields = APPLICATION_FIELDS,
	.item_bytes = sizeof(struct application),
	.count_offset = offsetof(struct config, application_count),
};

#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct config, key, member, reader, ##__VA_ARGS__)

static const struct json_field config_fields[] = {
	FIELD("role", role, json_read_choice, .choices = role_names),
	FIELD("lane", lane, json_read_u32, .max = UINT16_MAX),
	FIELD("t0_ns", t0_ns, read_t0, .max = INT64_MAX / 2, .optional = true),
	FIELD("duration_ns", duration_ns, json_read_i64, .min = MILLISECOND_NS,
	      .max = DURATION_NS_MAX),
	FIELD("span_ns", span_ns, json_read_i64, .max = DURATION_NS_MAX, .optional = true),
	FIELD("sample_ns", sample_ns, json_read_i64, .min = MILLISECOND_NS, .max = HOUR_NS,
	      .optional = true),
	FIELD("interval_ns", interval_ns, json_read_i64, .min = MILLISECOND_NS, .max = HOUR_NS,
	      .optional = true),
	FIELD("drain_ns", drain_ns, json_read_i64, .max = HOUR_NS, .optional = true),
	FIELD("progress_ns", progress_ns, json_read_i64, .max = DURATION_NS_MAX, .optional = true),
	FIELD("read_bytes", read_bytes, json_read_u32, .min = 1, .max = READ_BYTES_MAX,
	      .optional = true),
	FIELD("read_interval_ns", read_interval_ns, json_read_i64, .max = SECOND_NS,
	      .optional = true),
	FIELD("connect_timeout_ns", connect_timeout_ns, json_read_i64, .min = MILLISECOND_NS,
	      .max = HOUR_NS, .optional = true),
	FIELD("out", out, json_read_string),
	FIELD("controls", controls, json_read_list, .max = PROCESSES_MAX, .list = &control_list,
	      .optional = true),
	FIELD("control_states", states, json_read_list, .max = CCA_STATES_MAX, .list = &state_list,
	      .optional = true),
	FIELD("applications", applications, json_read_list, .max = APPLICATIONS_MAX,
	      .list = &application_list, .optional = true),
	FIELD("flows", flows, json_read_list, .min = 1, .max = FLOW_CAPACITY_MAX,
	      .list = &flow_list),
};

static const struct config config_defaults = {
	.t0_ns = T0_FROM_STDIN,
	.sample_ns = 50 * MILLISECOND_NS,
	.interval_ns = 100 * MILLISECOND_NS,
	.drain_ns = SECOND_NS,
	.read_bytes = 16 << 10,
	.connect_timeout_ns = 10 * SECOND_NS,
};

/* A transfer is a flow of its own: no application writes it, no iperf3 process starts it. */
static int
refuse_wrong_transfers(const struct config *config, const struct json_place *flows)
{
	for (size_t i = 0; i < config->flow_count; i++) {
		const struct flow_config *flow = &config->flows[i];
		struct json_place place = json_place_of_item(flows, i);

		place.key = flow->bytes > 0 ? "bytes" : "kept";
		if (flow->kept && flow->bytes == 0)
			return json_place_error(&place, "is for a flow with `bytes`");
		if (flow->bytes > 0 && config->control_count > 0)
			return json_place_error(&place, "cannot go with control connections");
		if (flow->bytes > 0 && config_application(config, flow) != NULL)
			return json_place_error(&place, "cannot go with an application");
	}
	return 0;
}

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

/* One application for a group at the most; iperf3 has none. */
static int
check_applications(const struct config *config, const struct json_place *applications)
{
	for (size_t i = 0; i < config->application_count; i++) {
		struct json_place place = json_place_of_item(applications, i);

		if (config->control_count > 0)
			return json_place_error(applications, "cannot go with control connections");
		if (application_check(&config->applications[i], &place) < 0)
			return -1;
		for (size_t j = 0; j < i; j++)
			if (config->applications[j].group == config->applications[i].group)
				return json_place_error(
					&place, "has the same group as applications[%zu]", j);
	}
	return 0;
}

static int
check_flows(const struct config *config, const struct json_place *flows)
{
	if (config->control_count > 0 && refuse_wrong_processes(config, flows) < 0)
		return -1;
	if (refuse_wrong_transfers(config, flows) < 0 || refuse_late_starts(config, flows) < 0)
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
	struct json_place applications = json_place_of_key(&place, "applications");
	json_t *root = json_load(path, failure);
	int result;

	*config = config_defaults;
	if (root == NULL)
		return -1;

	result = json_fields_read(&place, root, config_fields, COUNT(config_fields), config);
	json_decref(root);
	if (config->span_ns < config->duration_ns)
		config->span_ns = config->duration_ns;
	if (result < 0 || check_applications(config, &applications) < 0)
		return -1;
	return check_flows(config, &flows);
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

static json_t *
flow_to_json(const struct flow_config *flow)
{
	char source[INET_ADDRSTRLEN];
	char destination[INET_ADDRSTRLEN];
	json_t *json;

	inet_ntop(AF_INET, &flow->source.sin_addr, source, sizeof(source));
	inet_ntop(AF_INET, &flow->destination.sin_addr, destination, sizeof(destination));
	json = json_pack("{s:I, s:I, s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:b, s:i}", "flow",
			 (json_int_t)flow->flow, "group", (json_int_t)flow->group, "cc", flow->cc,
			 "src", source, "sport", ntohs(flow->source.sin_port), "dst", destination,
			 "dport", ntohs(flow->destination.sin_port), "start_ns",
			 (json_int_t)flow->start_ns, "process", (json_int_t)flow->process, "ecn",
			 flow->ecn, "dscp", flow->dscp);
	if (flow->bytes > 0) {
		json_object_set_new(json, "bytes", json_integer((json_int_t)flow->bytes));
		json_object_set_new(json, "kept", json_boolean(flow->kept));
	}
	return json;
}

static json_t *
control_to_json(const struct control_config *control)
{
	char source[INET_ADDRSTRLEN];
	char destination[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &control->source.sin_addr, source, sizeof(source));
	inet_ntop(AF_INET, &control->destination.sin_addr, destination, sizeof(destination));
	return json_pack("{s:s, s:i, s:s, s:i}", "src", source, "sport",
			 ntohs(control->source.sin_port), "dst", destination, "dport",
			 ntohs(control->destination.sin_port));
}

json_t *
config_to_json(const struct config *config)
{
	json_t *flows = json_array();
	json_t *controls = json_array();
	json_t *states = json_array();
	json_t *applications = json_array();
	json_t *t0 = config->t0_ns == T0_FROM_STDIN ? json_null() : json_integer(config->t0_ns);

	for (size_t i = 0; i < config->flow_count; i++)
		json_array_append_new(flows, flow_to_json(&config->flows[i]));
	for (size_t i = 0; i < config->control_count; i++)
		json_array_append_new(controls, control_to_json(&config->controls[i]));
	for (size_t i = 0; i < config->state_count; i++)
		json_array_append_new(states,
				      json_pack("{s:s, s:I}", "cc", config->states[i].cc, "map_id",
						(json_int_t)config->states[i].map_id));
	for (size_t i = 0; i < config->application_count; i++)
		json_array_append_new(applications, application_to_json(&config->applications[i]));
	return json_pack(
		"{s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o, "
		"s:o}",
		"role", config->role == ROLE_SENDER ? "sender" : "sink", "lane",
		(json_int_t)config->lane, "t0_ns", t0, "duration_ns",
		(json_int_t)config->duration_ns, "span_ns", (json_int_t)config->span_ns,
		"sample_ns", (json_int_t)config->sample_ns, "interval_ns",
		(json_int_t)config->interval_ns, "drain_ns", (json_int_t)config->drain_ns,
		"progress_ns", (json_int_t)config->progress_ns, "read_bytes",
		(json_int_t)config->read_bytes, "read_interval_ns",
		(json_int_t)config->read_interval_ns, "connect_timeout_ns",
		(json_int_t)config->connect_timeout_ns, "out", config->out, "controls", controls,
		"control_states", states, "applications", applications, "flows", flows);
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
