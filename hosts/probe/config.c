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

#define FIELD(type, key, member, reader, least, most, may_miss)                                    \
	{                                                                                          \
		.name = key, .offset = offsetof(struct type, member), .read = reader,              \
		.min = least, .max = most, .optional = may_miss,                                   \
	}

static const struct json_field socket_fields[] = {
	FIELD(socket_config, "local", local, json_read_sockaddr_ipv4, 0, 0, false),
	FIELD(socket_config, "local_port", local, json_read_sockaddr_port, 1, UINT16_MAX, false),
	FIELD(socket_config, "remote", remote, json_read_sockaddr_ipv4, 0, 0, true),
	FIELD(socket_config, "remote_port", remote, json_read_sockaddr_port, 1, UINT16_MAX, true),
};

static int
read_sockets(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	struct config *config = (struct config *)((char *)target - field->offset);

	config->socket_count = json_array_size(value);
	if (!json_is_array(value) || config->socket_count == 0 ||
	    config->socket_count > MAX_SOCKETS)
		return json_place_error(place, "must be a list of 1 to %d sockets", MAX_SOCKETS);
	for (size_t i = 0; i < config->socket_count; i++) {
		struct json_place inner = json_place_of_item(place, i);

		if (json_fields_read(&inner, json_array_get(value, i), socket_fields,
				     COUNT(socket_fields), &config->sockets[i]) < 0)
			return -1;
	}
	return 0;
}

static const struct json_field config_fields[] = {
	{.name = "role",
	 .offset = offsetof(struct config, role),
	 .read = json_read_choice,
	 .choices = role_names},
	FIELD(config, "out", out, json_read_string, 0, 0, false),
	FIELD(config, "schedule", schedule, json_read_string, 0, 0, true),
	FIELD(config, "linger_ns", linger_ns, json_read_i64, 0, MINUTE_NS, true),
	FIELD(config, "sockets", sockets, read_sockets, 0, 0, false),
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
