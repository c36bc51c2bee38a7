/* SPDX-License-Identifier: Apache-2.0 */
/* Programming and resetting a lane: bottleneck, delays, flows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common/nanoseconds.h"
#include "config/discipline_json.h"

#define DELAY_NS_MAX (60 * SECOND_NS)
#define ENTRIES_PER_CALL 512

struct program_request {
	uint32_t lane;
	struct discipline_config config;
};

static int
run_program(struct dataplane *dp, void *argument)
{
	const struct program_request *r = argument;

	return traffic_manager_configure(&dp->bottleneck.tm, r->lane, &r->config);
}

json_t *
command_program(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		{.name = "lane",
		 .read = command_read_lane,
		 .offset = offsetof(struct program_request, lane)},
		DISCIPLINE_JSON_FIELDS(offsetof(struct program_request, config)),
	};
	struct program_request r = {0};
	int error;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	error = mailbox_call(&c->dp->mailbox, run_program, &r);
	if (error == -EBUSY)
		return command_refuse(place, "lane %u has packets queued; reset it first", r.lane);
	if (error)
		return command_refuse(place, "%s", strerror(-error));
	return json_pack("{s:b, s:o}", "ok", 1, "applied", discipline_json_write(&r.config));
}

#define DELAY_FIELD(key, member, reader, least, most, may_miss)                                    \
	{                                                                                          \
		.name = key, .offset = offsetof(struct group_delay, member), .read = reader,       \
		.min = least, .max = most, .optional = may_miss,                                   \
	}

static const struct json_field delay_fields[] = {
	DELAY_FIELD("lane", lane, command_read_lane, 0, 0, false),
	DELAY_FIELD("group", group, json_read_u32, 0, GROUPS_PER_LANE - 1, false),
	DELAY_FIELD("forward_ns", forward_ns, json_read_i64, 0, DELAY_NS_MAX, false),
	DELAY_FIELD("reverse_ns", reverse_ns, json_read_i64, 0, DELAY_NS_MAX, false),
	DELAY_FIELD("loss_ppb", loss_ppb, json_read_u32, 0, LOSS_CERTAIN_PPB, true),
	DELAY_FIELD("seed", seed, json_read_i64, INT64_MIN, INT64_MAX, true),
};

static int
run_delay(struct dataplane *dp, void *argument)
{
	return delays_configure(dp->role->delays(dp), argument);
}

json_t *
command_delay(struct commands *c, const struct json_place *place, const json_t *request)
{
	struct group_delay delay = {0};
	int error;

	if (json_fields_read(place, request, delay_fields, RTE_DIM(delay_fields), &delay) < 0)
		return NULL;
	error = mailbox_call(&c->dp->mailbox, run_delay, &delay);
	return error ? command_refuse(place, "%s", strerror(-error)) : command_done();
}

/* An entry of the flow table, as a request has it. */
struct flow_entry {
	struct flow_key key;
	uint32_t flow;
};

struct flows_request {
	uint32_t lane;
	struct flow_entry entries[ENTRIES_PER_CALL];
	size_t n;
};

#define ENTRY_FIELD(key_name, member, reader, most)                                                \
	{                                                                                          \
		.name = key_name, .offset = offsetof(struct flow_entry, member), .read = reader,   \
		.max = most,                                                                       \
	}

static const struct json_field entry_fields[] = {
	ENTRY_FIELD("flow", flow, command_read_flow, 0),
	ENTRY_FIELD("src", key.src, json_read_ipv4, 0),
	ENTRY_FIELD("dst", key.dst, json_read_ipv4, 0),
	ENTRY_FIELD("sport", key.sport, json_read_u16, UINT16_MAX),
	ENTRY_FIELD("dport", key.dport, json_read_u16, UINT16_MAX),
	ENTRY_FIELD("proto", key.protocol, json_read_u8, UINT8_MAX),
};

/* The target is the whole request: the entries and how many they are. */
static int
read_entries(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	struct flows_request *r = target;

	(void)field;
	r->n = json_array_size(value);
	if (!json_is_array(value) || r->n > ENTRIES_PER_CALL)
		return json_place_error(place, "must be a list of at most %d flows",
					ENTRIES_PER_CALL);
	for (size_t i = 0; i < r->n; i++) {
		struct json_place item = json_place_of_item(place, i);

		if (json_fields_read(&item, json_array_get(value, i), entry_fields,
				     RTE_DIM(entry_fields), &r->entries[i]) < 0)
			return -1;
	}
	return 0;
}

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

static int
add_entries(struct commands *c, const struct json_place *place, const struct flows_request *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct flow_entry *entry = &r->entries[i];
		int error = registers_flow_add(c->dp->pipeline, &entry->key, r->lane, entry->flow);

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
		{.name = "lane",
		 .read = command_read_lane,
		 .offset = offsetof(struct flows_request, lane)},
		{.name = "entries", .read = read_entries},
	};
	struct flows_request r = {0};
	int added, error;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	added = add_entries(c, place, &r);
	error = pipeline_commit(c->dp->pipeline);
	if (added < 0)
		return NULL;
	if (error)
		return command_refuse(place, "the table did not take the entries; it is full");
	return json_pack("{s:b, s:i}", "ok", 1, "added", (int)r.n);
}

struct reset_request {
	uint32_t lane;
	struct flow_range flows;
};

static int
run_reset_lane(struct dataplane *dp, void *argument)
{
	uint32_t lane = ((const struct reset_request *)argument)->lane;

	dp->role->reset_lane(dp, lane);
	memset(&dp->lanes[lane], 0, sizeof(dp->lanes[lane]));
	return 0;
}

static int
remove_entries(struct commands *c, uint32_t lane)
{
	struct lane_entries *e = &c->entries[lane];

	while (e->n > 0)
		registers_flow_delete(c->dp->pipeline, &e->keys[--e->n]);
	return pipeline_commit(c->dp->pipeline);
}

json_t *
command_reset(struct commands *c, const struct json_place *place, const json_t *request)
{
	static const struct json_field fields[] = {
		{.name = "lane",
		 .read = command_read_lane,
		 .offset = offsetof(struct reset_request, lane)},
		{.name = "flows",
		 .read = command_read_flow_range,
		 .offset = offsetof(struct reset_request, flows)},
	};
	struct pipeline *p = c->dp->pipeline;
	struct reset_request r;
	int error;

	if (json_fields_read(place, request, fields, RTE_DIM(fields), &r) < 0)
		return NULL;
	/* First no more packets enter the queue as the lane's flows, then those inside are removed. */
	error = p ? remove_entries(c, r.lane) : 0;
	if (!error)
		error = mailbox_call(&c->dp->mailbox, run_reset_lane, &r);
	if (error)
		return command_refuse(place, "%s", strerror(abs(error)));
	if (p && registers_reset(p, r.lane, r.flows.first, r.flows.count, place->failure) < 0)
		return NULL;
	return command_done();
}
