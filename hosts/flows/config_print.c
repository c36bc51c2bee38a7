/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "config.h"

static json_t *
flow_to_json(const struct flow_config *flow)
{
	char source[INET_ADDRSTRLEN];
	char destination[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &flow->source.sin_addr, source, sizeof(source));
	inet_ntop(AF_INET, &flow->destination.sin_addr, destination, sizeof(destination));
	return json_pack("{s:I, s:I, s:s, s:s, s:i, s:s, s:i, s:I, s:I}", "flow",
			 (json_int_t)flow->flow, "group", (json_int_t)flow->group, "cc", flow->cc,
			 "src", source, "sport", ntohs(flow->source.sin_port), "dst", destination,
			 "dport", ntohs(flow->destination.sin_port), "start_ns",
			 (json_int_t)flow->start_ns, "process", (json_int_t)flow->process);
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

static json_t *
config_to_json(const struct config *config)
{
	json_t *flows = json_array();
	json_t *controls = json_array();
	json_t *states = json_array();
	json_t *t0 = config->t0_ns == T0_FROM_STDIN ? json_null() : json_integer(config->t0_ns);

	for (size_t i = 0; i < config->flow_count; i++)
		json_array_append_new(flows, flow_to_json(&config->flows[i]));
	for (size_t i = 0; i < config->control_count; i++)
		json_array_append_new(controls, control_to_json(&config->controls[i]));
	for (size_t i = 0; i < config->state_count; i++)
		json_array_append_new(states,
				      json_pack("{s:s, s:I}", "cc", config->states[i].cc, "map_id",
						(json_int_t)config->states[i].map_id));
	return json_pack(
		"{s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o}",
		"role", config->role == ROLE_SENDER ? "sender" : "sink", "lane",
		(json_int_t)config->lane, "t0_ns", t0, "duration_ns",
		(json_int_t)config->duration_ns, "span_ns", (json_int_t)config->span_ns,
		"sample_ns", (json_int_t)config->sample_ns, "interval_ns",
		(json_int_t)config->interval_ns, "drain_ns", (json_int_t)config->drain_ns,
		"progress_ns", (json_int_t)config->progress_ns, "read_bytes",
		(json_int_t)config->read_bytes, "read_interval_ns",
		(json_int_t)config->read_interval_ns, "connect_timeout_ns",
		(json_int_t)config->connect_timeout_ns, "out", config->out, "controls", controls,
		"control_states", states, "flows", flows);
}

int
config_print(const struct config *config, FILE *stream, struct failure *failure)
{
	json_t *json = config_to_json(config);
	int result = json_dumpf(json, stream, JSON_INDENT(1));

	json_decref(json);
	if (result < 0 || fputc('\n', stream) == EOF || fflush(stream) != 0)
		return failure_set(failure, EXIT_STATUS_HOST, "cannot print: %s", strerror(errno));
	return 0;
}
