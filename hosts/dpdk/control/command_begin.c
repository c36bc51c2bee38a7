/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Saying when a trial begins: the times of all that a lane schedules count from there. */
#include <errno.h>
#include <inttypes.h>

#include "commands.h"

struct begin_request {
	uint32_t lane;
	uint64_t t0_ns;
	uint64_t now_ns;
};

static int
run_begin(struct loop *loop, void *argument)
{
	struct begin_request *r = argument;

	r->now_ns = dataplane_now_ns(loop->dp);
	if (r->t0_ns < r->now_ns)
		return -ETIME;
	loop->dp->role->begin_lane(loop, r->lane, r->t0_ns);
	return 0;
}

json_t *
command_begin(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct begin_request, "lane", lane, as_lane),
		JSON_FIELD(struct begin_request, "t0_ns", t0_ns, as_number),
		{0},
	};
	struct begin_request r = {0};

	if (json_fields_read(place, request, fields, &r) < 0)
		return NULL;
	if (mailbox_call(&dataplane_loop(c->dp, r.lane)->mailbox, run_begin, &r) < 0)
		return command_refuse(place, "t0_ns has passed by %" PRIu64 " ns; name it earlier",
				      r.now_ns - r.t0_ns);
	return command_done();
}
