/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lane's entries in the P4 flow table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* An entry of the flow table, as a request has it. */
struct flow_entry {
	struct flow_key key;
	uint32_t flow;
};

struct flows_request {
	uint32_t lane;
	struct flow_entry entries[FLOW_ENTRIES_PER_CALL];
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
	if (!json_is_array(value) || r->n > FLOW_ENTRIES_PER_CALL)
		return json_place_error(place, "must be a list of at most %u flows",
					FLOW_ENTRIES_PER_CALL);
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

int
command_remove_flows(struct commands *c, uint32_t lane)
{
	struct lane_entries *e = &c->entries[lane];

	while (e->n > 0)
		registers_flow_delete(c->dp->pipeline, &e->keys[--e->n]);
	return pipeline_commit(c->dp->pipeline);
}
