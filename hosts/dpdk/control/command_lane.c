/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Programming a lane: its bottleneck and its entries in the P4 tables; resetting it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "config/lane_json.h"

#define DSCPS 64u
#define NOT_LISTED UINT8_MAX

/* The queue of each DSCP, or NOT_LISTED. */
struct dscp_queues {
	bool is_given;
	uint8_t of[DSCPS];
};

struct program_request {
	uint32_t lane;
	struct lane_config config;
	struct dscp_queues dscp;
	uint8_t dscp_default;
};

static int
run_program(struct loop *loop, void *argument)
{
	const struct program_request *r = argument;

	return traffic_manager_configure(&loop->bottleneck.tm, r->lane, &r->config);
}

/* [[DSCP, queue], ...] */
static int
read_dscp(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	struct dscp_queues *queues = target;
	const json_t *pair;
	size_t i;

	queues->is_given = true;
	memset(queues->of, NOT_LISTED, sizeof(queues->of));
	json_array_foreach(value, i, pair) {
		json_int_t dscp, queue;

		if (json_unpack((json_t *)(uintptr_t)pair, "[I, I!]", &dscp, &queue) < 0 ||
		    dscp < 0 || dscp >= DSCPS || queue < 0 || queue >= QUEUES_MAX)
			return -1;
		queues->of[dscp] = (uint8_t)queue;
	}
	return json_is_array(value) ? 0 : -1;
}

static const struct json_kind as_dscp = {.read = read_dscp};

/* Those that are not listed have the default; all are queues of the lane. */
static int
complete_dscp(const struct json_place *place, struct program_request *r)
{
	size_t n = r->config.queues.n_queues;

	if (!r->dscp.is_given)
		return 0;
	for (uint32_t dscp = 0; dscp < DSCPS; dscp++) {
		uint8_t *queue = &r->dscp.of[dscp];

		if (*queue == NOT_LISTED)
			*queue = r->dscp_default;
		if (*queue >= n)
			return json_place_error(place,
						"DSCP %u is for queue %u, but the lane has %zu "
						"queues",
						dscp, *queue, n);
	}
	return 0;
}

/* The lane's part of the DSCP table is as asked from now on. 0 or an errno of either sign. */
static int
write_dscp(struct commands *c, const struct program_request *r)
{
	struct pipeline *p = dataplane_loop(c->dp, r->lane)->pipeline;
	struct lane_entries *e = &c->entries[r->lane];
	int error = 0;

	if (!r->dscp.is_given && !e->has_dscp)
		return 0;
	for (uint8_t dscp = 0; !error && dscp < DSCPS; dscp++)
		error = r->dscp.is_given ? registers_dscp_add(p, r->lane, dscp, r->dscp.of[dscp]) :
					   registers_dscp_delete(p, r->lane, dscp);
	e->has_dscp = r->dscp.is_given;
	return error ? error : pipeline_commit(p);
}

/* What is applied of a request; NULL with the place's failure set. */
static json_t *
program(struct commands *c, const struct json_place *place, struct program_request *r)
{
	int error = mailbox_call(&dataplane_loop(c->dp, r->lane)->mailbox, run_program, r);

	if (error == -EBUSY)
		return command_refuse(place, "lane %u has packets queued; reset it first", r->lane);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	c->entries[r->lane].n_queues = r->config.queues.n_queues;
	error = write_dscp(c, r);
	if (error)
		return command_refuse(place, "the DSCP table refused lane %u: %s", r->lane,
				      strerror(abs(error)));
	return json_pack("{s:b, s:o}", "ok", 1, "applied",
			 json_fields_write(lane_config_fields, &r->config));
}

json_t *
command_program(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct program_request, "lane", lane, as_lane),
		{.kind = &as_object,
		 .fields = lane_config_fields,
		 .check = lane_check,
		 .offset = offsetof(struct program_request, config)},
		JSON_FIELD(struct program_request, "dscp", dscp, as_dscp, .optional = true),
		JSON_FIELD(struct program_request, "dscp_default", dscp_default, as_number,
			   .max = QUEUES_MAX - 1, .optional = true),
		{0},
	};
	struct program_request r = {0};
	json_t *answer = NULL;

	if (json_fields_read(place, request, fields, &r) == 0 && complete_dscp(place, &r) == 0)
		answer = program(c, place, &r);
	line_plan_free(&r.config.schedule);
	return answer;
}

/* An entry of the flow table, as a request has it. */
struct flow_entry {
	struct flow_key key;
	uint32_t flow;
	uint8_t queue;
};

struct flows_request {
	uint32_t lane;
	struct flow_entry entries[FLOW_ENTRIES_PER_CALL];
	size_t n;
};

static const struct json_field entry_fields[] = {
	JSON_FIELD(struct flow_entry, "flow", flow, as_flow),
	JSON_FIELD(struct flow_entry, "src", key.src, as_ipv4),
	JSON_FIELD(struct flow_entry, "dst", key.dst, as_ipv4),
	JSON_FIELD(struct flow_entry, "sport", key.sport, as_number),
	JSON_FIELD(struct flow_entry, "dport", key.dport, as_number),
	JSON_FIELD(struct flow_entry, "proto", key.protocol, as_number),
	JSON_FIELD(struct flow_entry, "queue", queue, as_number, .max = QUEUE_BY_DSCP,
		   .optional = true),
	{0},
};

static const struct json_field entry_item = JSON_ITEM(struct flow_entry, entry_fields);

static int
remember_key(struct lane_entries *e, const struct flow_key *key)
{
	if (e->n == e->capacity) {
		size_t capacity = e->capacity ? 2 * e->capacity : 64;
		struct flow_key *keys = realloc(e->keys, capacity * sizeof(*keys));

		if (keys == NULL)
			return -ENOMEM;
		e->keys = keys;
		e->capacity = capacity;
	}
	e->keys[e->n++] = *key;
	return 0;
}

/* A port gives a frame to the loop of its sender's lane, and what is of no lane to the first one; the
 * table that has the flow must be that loop's.
 */
static bool
reaches_lane(const struct commands *c, uint32_t lane, const struct flow_key *key)
{
	uint32_t of = key->src >> 8 & 0xff, group = (key->src & 0xff) - 1;
	bool planned = key->src >> 16 == SENDERS_NETWORK >> 16 && of < c->dp->config.lanes &&
		       group < GROUPS_PER_LANE;

	return dataplane_loop(c->dp, planned ? of : 0) == dataplane_loop(c->dp, lane);
}

static bool
has_queue(const struct commands *c, uint32_t lane, uint8_t queue)
{
	size_t n = c->entries[lane].n_queues;

	return n == 0 ? queue == 0 : queue < n || queue == QUEUE_BY_DSCP;
}

static int
check_entry(const struct commands *c, const struct json_place *place, uint32_t lane,
	    const struct flow_entry *entry)
{
	if (!reaches_lane(c, lane, &entry->key))
		return json_place_error(place,
					"flow %u is from another packet loop's lane; its "
					"source must be an address of lane %u",
					entry->flow, lane);
	if (!has_queue(c, lane, entry->queue))
		return json_place_error(place,
					"flow %u is for queue %u, but lane %u has %zu queues; "
					"program it first",
					entry->flow, entry->queue, lane, c->entries[lane].n_queues);
	return 0;
}

static int
add_entries(struct commands *c, const struct json_place *place, const struct flows_request *r)
{
	struct pipeline *p = dataplane_loop(c->dp, r->lane)->pipeline;

	for (size_t i = 0; i < r->n; i++) {
		const struct flow_entry *entry = &r->entries[i];
		struct flow_action action = {
			.lane = r->lane, .flow = entry->flow, .queue = entry->queue};
		int error;

		if (check_entry(c, place, r->lane, entry) < 0)
			return -1;
		error = registers_flow_add(p, &entry->key, &action);
		if (!error)
			error = remember_key(&c->entries[r->lane], &entry->key);
		if (error)
			return json_place_error(place, "the table refused flow %u: %s", entry->flow,
						strerror(-error));
	}
	return 0;
}

json_t *
command_flows(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct flows_request, "lane", lane, as_lane),
		JSON_LIST(struct flows_request, "entries", entries, n, entry_item,
			  .max = FLOW_ENTRIES_PER_CALL),
		{0},
	};
	struct flows_request r = {0};
	int added, error;

	if (json_fields_read(place, request, fields, &r) < 0)
		return NULL;
	added = add_entries(c, place, &r);
	error = pipeline_commit(dataplane_loop(c->dp, r.lane)->pipeline);
	if (added < 0)
		return NULL;
	if (error)
		return command_refuse(place, "the table did not take the entries; it is full");
	return json_pack("{s:b, s:i}", "ok", 1, "added", (int)r.n);
}

/* Take a lane's entries out of the flow table. 0 or an errno of either sign. */
static int
remove_entries(struct commands *c, uint32_t lane)
{
	struct lane_entries *e = &c->entries[lane];
	struct pipeline *p = dataplane_loop(c->dp, lane)->pipeline;

	while (e->n > 0)
		registers_flow_delete(p, &e->keys[--e->n]);
	return pipeline_commit(p);
}

struct reset_request {
	uint32_t lane;
	struct flow_range flows;
};

static int
run_reset_lane(struct loop *loop, void *argument)
{
	uint32_t lane = ((const struct reset_request *)argument)->lane;

	loop->dp->role->reset_lane(loop, lane);
	hold_ups_clear_lane(&loop->hold_ups, lane);
	memset(&loop->dp->lanes[lane], 0, sizeof(loop->dp->lanes[lane]));
	return 0;
}

static int
run_reset_postcards(struct loop *loop, void *argument)
{
	loop->dp->postcards[((const struct reset_request *)argument)->lane].n = 0;
	return 0;
}

static int
reset_lane(struct dataplane *dp, struct reset_request *r)
{
	int error = mailbox_call(&dataplane_loop(dp, r->lane)->mailbox, run_reset_lane, r);

	return error ? error :
		       mailbox_call(&dataplane_postcard_loop(dp, r->lane)->mailbox,
				    run_reset_postcards, r);
}

json_t *
command_reset(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		JSON_FIELD(struct reset_request, "lane", lane, as_lane),
		JSON_FIELD(struct reset_request, "flows", flows, as_flow_range),
		{0},
	};
	struct reset_request r;
	struct pipeline *p;
	int error;

	if (json_fields_read(place, request, fields, &r) < 0)
		return NULL;
	p = dataplane_loop(c->dp, r.lane)->pipeline;
	/* First no more packets enter the queue as the lane's flows, then those inside are removed. */
	error = p ? remove_entries(c, r.lane) : 0;
	if (!error)
		error = reset_lane(c->dp, &r);
	if (error)
		return command_refuse(place, "%s", strerror(abs(error)));
	if (p && registers_reset(p, r.lane, r.flows.first, r.flows.count, place->failure) < 0)
		return NULL;
	return command_done();
}
