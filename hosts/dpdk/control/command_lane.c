/* SPDX-License-Identifier: Apache-2.0 */
/* Programming a lane and taking it back: bottleneck, delays, flows, reset. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "config/lane_json.h"

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
command_program(struct commands *c, json_t *request)
{
	struct program_request r;
	json_int_t lane;
	json_error_t where;
	const char *op;
	char reason[192];
	int error;

	if (c->dp->pipeline == NULL)
		return command_not_here("program");
	if (COMMAND_UNPACK(request, where, "{s:s, s:I *}", "op", &op, "lane", &lane))
		return command_refuse("program: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	json_object_del(request, "op");
	json_object_del(request, "lane");
	if (lane_json_read(request, &r.config, reason, sizeof(reason)) < 0)
		return command_refuse("program: %s", reason);
	r.lane = (uint32_t)lane;
	error = mailbox_call(&c->dp->mailbox, run_program, &r);
	if (error == -EBUSY)
		return command_refuse("program: lane %u has packets queued; reset it first",
				      r.lane);
	if (error)
		return command_refuse("program: %s", strerror(-error));
	return json_pack("{s:b, s:o}", "ok", 1, "applied", lane_json_write(&r.config));
}

static int
run_delay(struct dataplane *dp, void *argument)
{
	return delays_configure(dp->role->delays(dp), argument);
}

json_t *
command_delay(struct commands *c, json_t *request)
{
	const json_int_t longest_ns = INT64_C(60000000000);
	json_int_t lane, group, forward, reverse, loss = 0, seed = 0;
	json_error_t where;
	const char *op;
	int error;

	if (COMMAND_UNPACK(request, where, "{s:s, s:I, s:I, s:I, s:I, s?I, s?I}", "op", &op, "lane",
			   &lane, "group", &group, "forward_ns", &forward, "reverse_ns", &reverse,
			   "loss_ppb", &loss, "seed", &seed))
		return command_refuse("delay: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	if (group < 0 || group >= GROUPS_PER_LANE || forward < 0 || forward > longest_ns ||
	    reverse < 0 || reverse > longest_ns || loss < 0 || loss > LOSS_CERTAIN_PPB)
		return command_refuse("delay: group 0 to %u, delays 0 to 60 s, loss_ppb 0 to 10^9",
				      GROUPS_PER_LANE - 1);
	error = mailbox_call(&c->dp->mailbox, run_delay,
			     &(struct group_delay){
				     .lane = (uint32_t)lane,
				     .group = (uint32_t)group,
				     .forward_ns = (uint64_t)forward,
				     .reverse_ns = (uint64_t)reverse,
				     .loss_ppb = (uint32_t)loss,
				     .seed = (uint64_t)seed,
			     });
	return error ? command_refuse("delay: %s", strerror(-error)) : command_done();
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

static json_t *
read_entry(const struct commands *c, json_t *entry, struct flow_key *key, uint32_t *flow)
{
	json_int_t id, sport, dport, protocol;
	const char *src, *dst;
	struct in_addr src_addr, dst_addr;
	json_error_t where;

	if (COMMAND_UNPACK(entry, where, "{s:I, s:s, s:s, s:I, s:I, s:I}", "flow", &id, "src", &src,
			   "dst", &dst, "sport", &sport, "dport", &dport, "proto", &protocol))
		return command_refuse("flows: %s", where.text);
	if (!command_are_flows(c, id, 1))
		return command_refuse("flows: flow must be 0 to %u",
				      c->dp->config.flow_capacity - 1);
	if (inet_pton(AF_INET, src, &src_addr) != 1 || inet_pton(AF_INET, dst, &dst_addr) != 1)
		return command_refuse("flows: src and dst must be IPv4 addresses");
	if (sport < 0 || sport > UINT16_MAX || dport < 0 || dport > UINT16_MAX || protocol < 0 ||
	    protocol > UINT8_MAX)
		return command_refuse("flows: ports are 0 to 65535, proto 0 to 255");
	*key = (struct flow_key){
		.src = ntohl(src_addr.s_addr),
		.dst = ntohl(dst_addr.s_addr),
		.sport = (uint16_t)sport,
		.dport = (uint16_t)dport,
		.protocol = (uint8_t)protocol,
	};
	*flow = (uint32_t)id;
	return NULL;
}

static json_t *
add_entry(struct commands *c, uint32_t lane, json_t *entry)
{
	struct flow_key key;
	uint32_t flow = 0;
	json_t *refusal = read_entry(c, entry, &key, &flow);
	int error;

	if (refusal != NULL)
		return refusal;
	error = registers_flow_add(c->dp->pipeline, &key, lane, flow);
	if (!error)
		error = remember_key(&c->entries[lane], &key);
	return error ? command_refuse("flows: the table refused flow %u: %s", flow,
				      strerror(-error)) :
		       NULL;
}

json_t *
command_flows(struct commands *c, json_t *request)
{
	json_t *entries, *entry, *refusal;
	json_int_t lane;
	json_error_t where;
	const char *op;
	size_t i;

	if (c->dp->pipeline == NULL)
		return command_not_here("flows");
	if (COMMAND_UNPACK(request, where, "{s:s, s:I, s:o}", "op", &op, "lane", &lane, "entries",
			   &entries))
		return command_refuse("flows: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	if (!json_is_array(entries) || json_array_size(entries) > ENTRIES_PER_CALL)
		return command_refuse("flows: entries must be a list of at most %d",
				      ENTRIES_PER_CALL);
	json_array_foreach(entries, i, entry) {
		refusal = add_entry(c, (uint32_t)lane, entry);
		if (refusal != NULL) {
			pipeline_commit(c->dp->pipeline);
			return refusal;
		}
	}
	if (pipeline_commit(c->dp->pipeline) != 0)
		return command_refuse("flows: the table did not take the entries; it is full");
	return json_pack("{s:b, s:i}", "ok", 1, "added", (int)json_array_size(entries));
}

static int
run_reset_lane(struct dataplane *dp, void *argument)
{
	uint32_t lane = *(const uint32_t *)argument;

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
command_reset(struct commands *c, json_t *request)
{
	json_int_t lane, first, count;
	json_error_t where;
	const char *op;
	uint32_t lane_id;
	int error;

	if (COMMAND_UNPACK(request, where, "{s:s, s:I, s:[I,I]}", "op", &op, "lane", &lane, "flows",
			   &first, &count))
		return command_refuse("reset: %s", where.text);
	if (!command_is_lane(c, lane))
		return command_no_such_lane(c);
	if (!command_are_flows(c, first, count))
		return command_no_such_flows(c);
	lane_id = (uint32_t)lane;
	/* First no more packets of the lane's flows, then none on their way. */
	error = c->dp->pipeline ? remove_entries(c, lane_id) : 0;
	if (!error)
		error = mailbox_call(&c->dp->mailbox, run_reset_lane, &lane_id);
	if (!error && c->dp->pipeline)
		error = registers_reset(c->dp->pipeline, lane_id, (uint32_t)first, (uint32_t)count);
	return error ? command_refuse("reset: %s", strerror(abs(error))) : command_done();
}
