/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/clock.h"
#include "common/json_fields.h"
#include "config.h"

#define MINUTE_NS (60 * SECOND_NS)

static const char *const role_names[] = {"prober", "reflector", NULL};

static const struct json_field socket_fields[] = {
	JSON_FIELD(struct socket_config, "local", local, as_sockaddr_ipv4),
	JSON_FIELD(struct socket_config, "local_port", local, as_sockaddr_port),
	JSON_FIELD(struct socket_config, "remote", remote, as_sockaddr_ipv4, .optional = true),
	JSON_FIELD(struct socket_config, "remote_port", remote, as_sockaddr_port, .optional = true),
	{0},
};

static const struct json_field socket_item = JSON_ITEM(struct socket_config, socket_fields);

static const struct json_field config_fields[] = {
	JSON_FIELD(struct config, "role", role, as_choice, .choices = role_names),
	JSON_FIELD(struct config, "out", out, as_string),
	JSON_FIELD(struct config, "schedule", schedule, as_string, .optional = true),
	JSON_FIELD(struct config, "linger_ns", linger_ns, as_number, .max = MINUTE_NS,
		   .optional = true),
	JSON_LIST(struct config, "sockets", sockets, socket_count, socket_item, .min = 1,
		  .max = MAX_SOCKETS),
	{0},
};

/* What one role needs and the other must not have. */
static int
check_role(const struct config *config, const struct json_place *place)
{
	bool prober = config->role == ROLE_PROBER;

	if (prober != (config->schedule != NULL))
		return json_place_error(place, "a prober needs a schedule, a reflector has none");
	for (size_t i = 0; i < config->socket_count; i++) {
		const struct sockaddr_in *remote = &config->sockets[i].remote;

		if (prober != (remote->sin_family != 0 && remote->sin_port != 0))
			return json_place_error(place,
						"sockets[%zu]: a prober's needs remote and "
						"remote_port, a reflector's has neither",
						i);
	}
	return 0;
}

int
config_load(struct config *config, const char *path, struct failure *failure)
{
	struct json_place place = {.source = path, .failure = failure};
	json_t *root = json_load(path, failure);
	int result;

	*config = (struct config){.linger_ns = SECOND_NS};
	if (root == NULL)
		return -1;
	result = json_fields_read(&place, root, config_fields, config);
	json_decref(root);
	return result < 0 ? -1 : check_role(config, &place);
}

void
config_free(struct config *config)
{
	free(config->out);
	free(config->schedule);
}
