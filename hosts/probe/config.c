/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/clock.h"
#include "common/json_fields.h"
#include "config.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MINUTE_NS (60 * SECOND_NS)

static const char *const role_names[] = {"prober", "reflector", NULL};

static const struct json_field socket_fields[] = {
	JSON_FIELD(struct socket_config, "local", local, json_read_sockaddr_ipv4),
	JSON_FIELD(struct socket_config, "local_port", local, json_read_sockaddr_port, .min = 1,
		   .max = UINT16_MAX),
	JSON_FIELD(struct socket_config, "remote", remote, json_read_sockaddr_ipv4,
		   .optional = true),
	JSON_FIELD(struct socket_config, "remote_port", remote, json_read_sockaddr_port, .min = 1,
		   .max = UINT16_MAX, .optional = true),
};

static const struct json_list socket_list = {
	.items = "sockets",
	.fields = socket_fields,
	.n_fields = COUNT(socket_fields),
	.item_bytes = sizeof(struct socket_config),
	.count_offset = offsetof(struct config, socket_count),
};

static const struct json_field config_fields[] = {
	JSON_FIELD(struct config, "role", role, json_read_choice, .choices = role_names),
	JSON_FIELD(struct config, "out", out, json_read_string),
	JSON_FIELD(struct config, "schedule", schedule, json_read_string, .optional = true),
	JSON_FIELD(struct config, "linger_ns", linger_ns, json_read_i64, .max = MINUTE_NS,
		   .optional = true),
	JSON_FIELD(struct config, "sockets", sockets, json_read_list, .min = 1, .max = MAX_SOCKETS,
		   .list = &socket_list),
};

/* What one role needs and the other must not have. */
static int
check_role(const struct config *config, const struct json_place *place)
{
	struct json_place schedule = json_place_of_key(place, "schedule");
	struct json_place sockets = json_place_of_key(place, "sockets");
	bool prober = config->role == ROLE_PROBER;

	if (prober != (config->schedule != NULL))
		return json_place_error(&schedule,
					"a prober needs one, a reflector must have none");
	for (size_t i = 0; i < config->socket_count; i++) {
		const struct sockaddr_in *remote = &config->sockets[i].remote;
		struct json_place item = json_place_of_item(&sockets, i);

		if (prober != (remote->sin_family != 0 && remote->sin_port != 0))
			return json_place_error(&item, "a prober's needs remote and remote_port, "
						       "a reflector's must have neither");
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
	result = json_fields_read(&place, root, config_fields, COUNT(config_fields), config);
	json_decref(root);
	return result < 0 ? -1 : check_role(config, &place);
}

void
config_free(struct config *config)
{
	free(config->out);
	free(config->schedule);
}
