/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What held a lane's frames up since it was reset, into files. */
#include <limits.h>
#include <string.h>

#include "command.h"

struct disturbances_request {
	uint32_t lane;
	char path[PATH_MAX];
	char pauses_path[PATH_MAX];
	struct disturbance taken;
};

#define FIELD(key, member, reader, most)                                                           \
	{                                                                                          \
		.name = key, .offset = offsetof(struct disturbances_request, member),              \
		.read = reader, .max = most,                                                       \
	}

static const struct json_field fields[] = {
	FIELD("lane", lane, command_read_lane, 0),
	FIELD("path", path, json_read_text, PATH_MAX),
	FIELD("pauses_path", pauses_path, json_read_text, PATH_MAX),
};

/* The data thread goes on with empty records; writing is not its work. */
static int
run_take(struct dataplane *dp, void *argument)
{
	struct disturbances_request *r = argument;
	struct disturbance *lane = &dp->hold_ups.lanes[r->lane];

	disturbance_finish(lane);
	r->taken = *lane;
	disturbance_init(lane, lane->epoch_ns);
	return 0;
}

static json_t *
write_taken(const struct json_place *place, const struct disturbances_request *r)
{
	const struct disturbance *taken = &r->taken;
	int error = record_log_write(&taken->bins, r->path);

	if (!error)
		error = record_log_write(&taken->pauses, r->pauses_path);
	if (error)
		return command_refuse(place, "%.200s: %s", r->path, strerror(-error));
	return json_pack("{s:b, s:I, s:I, s:I}", "ok", 1, "bins", (json_int_t)taken->bins.count,
			 "pauses", (json_int_t)taken->pauses.count, "lost",
			 (json_int_t)(taken->bins.lost + taken->pauses.lost));
}

json_t *
command_disturbances(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct disturbances_request r;
	json_t *answer;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	mailbox_call(&c->dp->mailbox, run_take, &r);
	answer = write_taken(place, &r);
	disturbance_clear(&r.taken);
	return answer;
}
