/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "generator_tables.h"

int
config_load(struct config *config, const char *path, struct failure *failure)
{
	struct json_place place = {.source = path, .failure = failure};
	json_t *root = json_load(path, failure);
	int result;

	*config = (struct config){0};
	if (root == NULL)
		return -1;
	result = json_fields_read(&place, root, config_fields, config);
	json_decref(root);
	return result;
}

void
config_free(struct config *config)
{
	free(config->out);
	free(config->flows);
	config->out = NULL;
	config->flows = NULL;
	config->n_flows = 0;
}

const struct application *
config_application(const struct config *config, const struct flow_config *flow)
{
	for (size_t i = 0; i < config->n_applications; i++)
		if (config->applications[i].group == flow->group)
			return &config->applications[i];
	return NULL;
}

bool
config_is_udp(const struct config *config, const struct flow_config *flow)
{
	const struct application *application = config_application(config, flow);

	return application != NULL && application->kind == KIND_UDP;
}

bool
config_has(const struct config *config, enum kind kind)
{
	for (size_t i = 0; i < config->n_applications; i++)
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
