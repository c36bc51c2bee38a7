/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lane_json.h"
#include "loop.h"
#include "registers.h"
#include "version.h"

#define ENTRIES_PER_CALL 512

/* A lane's entries in the flow table, to take them out again. */
struct lane_entries {
	struct flow_key *keys;
	size_t n;
	size_t capacity;
};

struct commands {
	struct dataplane *dp;
	struct lane_entries *entries;
};

struct commands *
commands_create(struct dataplane *dp)
{
	struct commands *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->dp = dp;
	c->entries = calloc(dp->config.lanes, sizeof(*c->entries));
	if (c->entries == NULL) {
		free(c);
		return NULL;
	}
	return c;
}

void
commands_destroy(struct commands *c)
{
	for (uint32_t lane = 0; lane < c->dp->config.lanes; lane++)
		free(c->entries[lane].keys);
	free(c->entries);
	free(c);
}

static json_t *
refuse(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static json_t *
done(void)
{
	return json_pack("{s:b}", "ok", 1);
}

/* The request's fields, all of them and no others, or an answer that says why not. */
#define UNPACK(request, where, ...) \
	(json_unpack_ex(request, &(where), JSON_STRICT, __VA_ARGS__) < 0)

static bool
is_lane(const struct commands *c, json_int_t lane)
{
	return lane >= 0 && lane < c->dp->config.lanes;
}

static bool
are_flows(const struct commands *c, json_int_t first, json_int_t count)
{
	json_int_t capacity = c->dp->config.flow_capacity;

	return first >= 0 && count >= 0 && first <= capacity && count <= capacity - first;
}

static json_t *
no_such_lane(const struct commands *c)
{
	return refuse("lane must be 0 to %u", c->dp->config.lanes - 1);
}

static json_t *
no_such_flows(const struct commands *c)
{
	return refuse("flows must be [first, count] within 0 to %u",
		      c->dp->config.flow_capacity);
}

static json_t *
wire_description(const struct dataplane *dp, enum wire_id id)
{
	const struct wire_config *w = &dp->config.wires[id];

	return json_pack("{s:s, s:s}", "driver", driver_names[w->driver], "device", w->device);
}

static json_t *
do_hello(struct commands *c, json_t *request)
{
	const struct dataplane *dp = c->dp;
	json_error_t where;
	const char *op;

	if (UNPACK(request, where, "{s:s}", "op", &op))
		return refuse("hello: %s", where.text);
	return json_pack("{s:b, s:s, s:i, s:I, s:i, s:i, s:s, s:i, s:{s:o, s:o}}", "ok", 1,
			 "version", NASHBED_VERSION, "pid", (int)getpid(), "epoch_ns",
			 (json_int_t)dp->epoch_ns, "lanes", (int)dp->config.lanes,
			 "flow_capacity", (int)dp->config.flow_capacity, "spec_digest",
			 pipeline_digest(dp->pipeline), "postcard_bytes", (int)POSTCARD_BYTES,
			 "ports", wire_names[WIRE_SENDERS],
			 wire_description(dp, WIRE_SENDERS), wire_names[WIRE_RECEIVERS],
			 wire_description(dp, WIRE_RECEIVERS));
}

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

static json_t *
do_program(struct commands *c, json_t *request)
{
	struct program_request r;
	json_int_t lane;
	json_error_t where;
	const char *op;
	char reason[192];
	int error;

	if (UNPACK(request, where, "{s:s, s:I *}", "op", &op, "lane", &lane))
		return refuse("program: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	json_object_del(request, "op");
	json_object_del(request, "lane");
	if (lane_json_read(request, &r.config, reason, sizeof(reason)) < 0)
		return refuse("program: %s", reason);
	r.lane = (uint32_t)lane;
	error = mailbox_call(&c->dp->mailbox, run_program, &r);
	if (error == -EBUSY)
		return refuse("program: lane %u has packets queued; reset it first", r.lane);
	if (error)
		return refuse("program: %s", strerror(-error));
	return json_pack("{s:b, s:o}", "ok", 1, "applied", lane_json_write(&r.config));
}

struct delay_request {
	uint32_t lane;
	uint32_t group;
	uint64_t forward_ns;
	uint64_t reverse_ns;
	uint32_t loss_ppb;
	uint64_t seed;
};

static int
run_delay(struct dataplane *dp, void *argument)
{
	const struct delay_request *r = argument;
	struct bottleneck *b = &dp->bottleneck;
	int error = delay_line_configure(&b->delays, bottleneck_path(b, true, r->lane, r->group),
					 r->forward_ns, r->loss_ppb, r->seed);

	if (error)
		return error;
	return delay_line_configure(&b->delays, bottleneck_path(b, false, r->lane, r->group),
				    r->reverse_ns, 0, 0);
}

static json_t *
do_delay(struct commands *c, json_t *request)
{
	const json_int_t longest_ns = INT64_C(60000000000);
	json_int_t lane, group, forward, reverse, loss = 0, seed = 0;
	json_error_t where;
	const char *op;
	int error;

	if (UNPACK(request, where, "{s:s, s:I, s:I, s:I, s:I, s?I, s?I}", "op", &op, "lane",
		   &lane, "group", &group, "forward_ns", &forward, "reverse_ns", &reverse,
		   "loss_ppb", &loss, "seed", &seed))
		return refuse("delay: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	if (group < 0 || group >= GROUPS_PER_LANE || forward < 0 || forward > longest_ns ||
	    reverse < 0 || reverse > longest_ns || loss < 0 || loss > LOSS_CERTAIN_PPB)
		return refuse("delay: group 0 to %u, delays 0 to 60 s, loss_ppb 0 to 10^9",
			      GROUPS_PER_LANE - 1);
	error = mailbox_call(&c->dp->mailbox, run_delay,
			     &(struct delay_request){
				     .lane = (uint32_t)lane,
				     .group = (uint32_t)group,
				     .forward_ns = (uint64_t)forward,
				     .reverse_ns = (uint64_t)reverse,
				     .loss_ppb = (uint32_t)loss,
				     .seed = (uint64_t)seed,
			     });
	return error ? refuse("delay: %s", strerror(-error)) : done();
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

	if (UNPACK(entry, where, "{s:I, s:s, s:s, s:I, s:I, s:I}", "flow", &id, "src", &src,
		   "dst", &dst, "sport", &sport, "dport", &dport, "proto", &protocol))
		return refuse("flows: %s", where.text);
	if (!are_flows(c, id, 1))
		return refuse("flows: flow must be 0 to %u", c->dp->config.flow_capacity - 1);
	if (inet_pton(AF_INET, src, &src_addr) != 1 || inet_pton(AF_INET, dst, &dst_addr) != 1)
		return refuse("flows: src and dst must be IPv4 addresses");
	if (sport < 0 || sport > UINT16_MAX || dport < 0 || dport > UINT16_MAX ||
	    protocol < 0 || protocol > UINT8_MAX)
		return refuse("flows: ports are 0 to 65535, proto 0 to 255");
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
	return error ? refuse("flows: the table refused flow %u: %s", flow, strerror(-error)) :
		       NULL;
}

static json_t *
do_flows(struct commands *c, json_t *request)
{
	json_t *entries, *entry, *refusal;
	json_int_t lane;
	json_error_t where;
	const char *op;
	size_t i;

	if (UNPACK(request, where, "{s:s, s:I, s:o}", "op", &op, "lane", &lane, "entries",
		   &entries))
		return refuse("flows: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	if (!json_is_array(entries) || json_array_size(entries) > ENTRIES_PER_CALL)
		return refuse("flows: entries must be a list of at most %d", ENTRIES_PER_CALL);
	json_array_foreach(entries, i, entry) {
		refusal = add_entry(c, (uint32_t)lane, entry);
		if (refusal != NULL) {
			pipeline_commit(c->dp->pipeline);
			return refusal;
		}
	}
	if (pipeline_commit(c->dp->pipeline) != 0)
		return refuse("flows: the table did not take the entries; it is full");
	return json_pack("{s:b, s:i}", "ok", 1, "added", (int)json_array_size(entries));
}

struct telemetry_request {
	uint32_t lane;
	struct collector *collector;
};

static int
run_telemetry_start(struct dataplane *dp, void *argument)
{
	const struct telemetry_request *r = argument;

	telemetry_start(dp->telemetry, r->lane, r->collector);
	return 0;
}

static int
run_telemetry_stop(struct dataplane *dp, void *argument)
{
	telemetry_stop(dp->telemetry, *(const uint32_t *)argument);
	return 0;
}

static json_t *
read_collector(const struct commands *c, json_t *request, struct collector_config *config,
	       uint32_t *lane_id, const char **path)
{
	json_int_t lane, one_in = 1, bin_ns = 0, first = 0, count = 0;
	const char *op, *mode;
	json_error_t where;

	if (UNPACK(request, where, "{s:s, s:I, s:s, s:s, s?I, s?I, s?[I,I]}", "op", &op, "lane",
		   &lane, "mode", &mode, "path", path, "n", &one_in, "bin_ns", &bin_ns, "flows",
		   &first, &count))
		return refuse("telemetry: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	if (!are_flows(c, first, count))
		return no_such_flows(c);
	*lane_id = (uint32_t)lane;
	*config = (struct collector_config){
		.start_ns = loop_now_ns(c->dp),
		.first_flow = (uint32_t)first,
		.n_flows = (uint32_t)count,
		.one_in = (uint32_t)one_in,
		.bin_ns = (uint64_t)bin_ns,
	};
	if (strcmp(mode, "all") == 0) {
		config->mode = COLLECT_ALL;
		return NULL;
	}
	if (strcmp(mode, "sample") == 0) {
		config->mode = COLLECT_SAMPLE;
		return one_in >= 1 && one_in <= UINT32_MAX ? NULL :
							     refuse("telemetry: n must be 1 or more");
	}
	if (strcmp(mode, "bins") == 0) {
		config->mode = COLLECT_BINS;
		return bin_ns >= 1000 && count > 0 ?
			       NULL :
			       refuse("telemetry: bins need bin_ns of at least 1000 and flows");
	}
	return refuse("telemetry: mode must be all, sample or bins");
}

static json_t *
do_telemetry(struct commands *c, json_t *request)
{
	struct collector_config config;
	struct telemetry_request r;
	const char *path;
	json_t *refusal = read_collector(c, request, &config, &r.lane, &path);

	if (refusal != NULL)
		return refusal;
	if (telemetry_is_running(c->dp->telemetry, r.lane))
		return refuse("telemetry: lane %u is already collecting; telemetry_stop first",
			      r.lane);
	r.collector = collector_open(path, &config);
	if (r.collector == NULL)
		return refuse("telemetry: %s: %s", path, strerror(errno));
	mailbox_call(&c->dp->mailbox, run_telemetry_start, &r);
	return done();
}

static json_t *
do_telemetry_stop(struct commands *c, json_t *request)
{
	struct collector_stats stats;
	json_int_t lane;
	json_error_t where;
	const char *op;
	uint32_t lane_id;
	uint64_t lost;

	if (UNPACK(request, where, "{s:s, s:I}", "op", &op, "lane", &lane))
		return refuse("telemetry_stop: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	lane_id = (uint32_t)lane;
	if (!telemetry_is_running(c->dp->telemetry, lane_id))
		return refuse("telemetry_stop: lane %u is not collecting", lane_id);
	mailbox_call(&c->dp->mailbox, run_telemetry_stop, &lane_id);
	telemetry_finish(c->dp->telemetry, lane_id, &stats, &lost);
	if (stats.error)
		return refuse("telemetry: the file could not be written: %s",
			      strerror(stats.error));
	return json_pack("{s:b, s:I, s:I, s:I, s:I}", "ok", 1, "seen", (json_int_t)stats.seen,
			 "written", (json_int_t)stats.written, "gaps", (json_int_t)stats.gaps,
			 "lost", (json_int_t)lost);
}

struct lane_view {
	uint32_t lane;
	struct discipline_stats queue;
	struct lane_state state;
	uint64_t delay_packets;
	uint64_t random_loss_packets;
	char description[128];
};

static void
add_path(struct lane_view *view, const struct delay_path *path)
{
	view->delay_packets += path->waiting_packets;
	view->random_loss_packets += path->lost_packets;
}

static int
run_view_lane(struct dataplane *dp, void *argument)
{
	struct lane_view *view = argument;
	struct bottleneck *b = &dp->bottleneck;

	traffic_manager_stats(&b->tm, view->lane, &view->queue);
	b->tm.ops->describe(b->tm.lanes[view->lane], view->description,
			    sizeof(view->description));
	view->state = dp->lanes[view->lane];
	for (uint32_t group = 0; group < GROUPS_PER_LANE; group++) {
		add_path(view, &b->delays.paths[bottleneck_path(b, true, view->lane, group)]);
		add_path(view, &b->delays.paths[bottleneck_path(b, false, view->lane, group)]);
	}
	return 0;
}

static json_t *
lateness_json(const struct lane_state *state)
{
	const struct lateness *l = &state->lateness;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)l->count,
			 "mean_ns", (json_int_t)(l->count ? l->sum_ns / l->count : 0), "p50_ns",
			 (json_int_t)lateness_percentile(l, 500), "p99_ns",
			 (json_int_t)lateness_percentile(l, 990), "p999_ns",
			 (json_int_t)lateness_percentile(l, 999), "max_ns",
			 (json_int_t)l->max_ns, "max_gap_ns", (json_int_t)state->max_gap_ns);
}

static json_t *
histogram_json(struct pipeline *p, uint32_t lane)
{
	json_t *counts = json_array();
	uint32_t n = HISTOGRAM_BINS;

	while (n > 0 && registers_histogram(p, lane, n - 1) == 0)
		n--;
	for (uint32_t bin = 0; bin < n; bin++)
		json_array_append_new(
			counts, json_integer((json_int_t)registers_histogram(p, lane, bin)));
	return counts;
}

static json_t *
flows_json(struct pipeline *p, uint32_t first, uint32_t count)
{
	json_t *flows = json_object();

	for (int which = 0; which < N_FLOW_REGISTERS; which++) {
		json_t *values = json_array();

		for (uint32_t i = 0; i < count; i++)
			json_array_append_new(values,
					      json_integer((json_int_t)registers_flow(
						      p, (enum flow_register)which, first + i)));
		json_object_set_new(flows, flow_register_names[which], values);
	}
	return flows;
}

static json_t *
do_counters(struct commands *c, json_t *request)
{
	struct lane_view view = {0};
	json_int_t lane, first, count;
	json_error_t where;
	const char *op;

	if (UNPACK(request, where, "{s:s, s:I, s:[I,I]}", "op", &op, "lane", &lane, "flows",
		   &first, &count))
		return refuse("counters: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	if (!are_flows(c, first, count))
		return no_such_flows(c);
	view.lane = (uint32_t)lane;
	mailbox_call(&c->dp->mailbox, run_view_lane, &view);
	return json_pack(
		"{s:b, s:o, s:{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}}", "ok", 1,
		"flows", flows_json(c->dp->pipeline, (uint32_t)first, (uint32_t)count), "lane",
		"queue", view.description, "queue_bytes", (json_int_t)view.queue.queue_bytes,
		"queue_packets", (json_int_t)view.queue.queue_packets, "peak_bytes",
		(json_int_t)view.queue.peak_bytes, "dropped_packets",
		(json_int_t)view.queue.dropped_packets, "delay_packets",
		(json_int_t)view.delay_packets, "random_loss_packets",
		(json_int_t)view.random_loss_packets, "histogram_bin_ns",
		(json_int_t)HISTOGRAM_BIN_NS, "histogram",
		histogram_json(c->dp->pipeline, view.lane), "lateness",
		lateness_json(&view.state));
}

struct stats_view {
	struct wire_stats wires[N_WIRES];
	struct bottleneck_drops drops;
	struct loop_stats loop;
};

static int
run_view_stats(struct dataplane *dp, void *argument)
{
	struct stats_view *view = argument;

	view->drops = dp->bottleneck.drops;
	view->loop = dp->loop;
	for (int id = 0; id < N_WIRES; id++) {
		int error = wire_stats_get(&dp->wires[id], &view->wires[id]);

		if (error)
			return error;
	}
	return 0;
}

static json_t *
wire_stats_json(const struct wire_stats *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "rx_packets",
			 (json_int_t)s->rx_packets, "tx_packets", (json_int_t)s->tx_packets,
			 "rx_bytes", (json_int_t)s->rx_bytes, "tx_bytes",
			 (json_int_t)s->tx_bytes, "rx_dropped", (json_int_t)s->rx_dropped,
			 "tx_dropped", (json_int_t)s->tx_dropped, "rx_no_mbuf",
			 (json_int_t)s->rx_no_mbuf, "xdp_rx_dropped",
			 (json_int_t)s->xdp_rx_dropped, "xdp_rx_ring_full",
			 (json_int_t)s->xdp_rx_ring_full, "xdp_fill_ring_empty",
			 (json_int_t)s->xdp_fill_ring_empty, "xdp_tx_invalid",
			 (json_int_t)s->xdp_tx_invalid);
}

static json_t *
unshaped_json(struct pipeline *p)
{
	json_t *unshaped = json_object();

	for (int reason = UNSHAPED_REVERSE; reason < N_UNSHAPED_REASONS; reason++) {
		uint64_t packets, bytes;
		char key[64];

		registers_unshaped(p, (enum unshaped_reason)reason, &packets, &bytes);
		snprintf(key, sizeof(key), "%s_packets", unshaped_names[reason]);
		json_object_set_new(unshaped, key, json_integer((json_int_t)packets));
		snprintf(key, sizeof(key), "%s_bytes", unshaped_names[reason]);
		json_object_set_new(unshaped, key, json_integer((json_int_t)bytes));
	}
	return unshaped;
}

static json_t *
drops_json(const struct bottleneck_drops *d)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "no_memory", (json_int_t)d->no_memory,
			 "p4", (json_int_t)d->p4, "bad_lane", (json_int_t)d->bad_lane,
			 "headroom", (json_int_t)d->headroom, "discarded",
			 (json_int_t)d->discarded);
}

static json_t *
do_stats(struct commands *c, json_t *request)
{
	struct stats_view view;
	json_error_t where;
	const char *op;
	int error;

	if (UNPACK(request, where, "{s:s}", "op", &op))
		return refuse("stats: %s", where.text);
	error = mailbox_call(&c->dp->mailbox, run_view_stats, &view);
	if (error)
		return refuse("stats: %s", strerror(-error));
	return json_pack("{s:b, s:{s:o, s:o}, s:o, s:o, s:{s:I, s:I, s:I}}", "ok", 1, "ports",
			 wire_names[WIRE_SENDERS], wire_stats_json(&view.wires[WIRE_SENDERS]),
			 wire_names[WIRE_RECEIVERS],
			 wire_stats_json(&view.wires[WIRE_RECEIVERS]), "unshaped",
			 unshaped_json(c->dp->pipeline), "rings", drops_json(&view.drops),
			 "loop", "iterations", (json_int_t)view.loop.iterations, "busy",
			 (json_int_t)view.loop.busy, "max_gap_ns",
			 (json_int_t)view.loop.max_gap_ns);
}

static int
run_reset_lane(struct dataplane *dp, void *argument)
{
	uint32_t lane = *(const uint32_t *)argument;

	bottleneck_reset_lane(&dp->bottleneck, lane);
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

static json_t *
do_reset(struct commands *c, json_t *request)
{
	json_int_t lane, first, count;
	json_error_t where;
	const char *op;
	uint32_t lane_id;
	int error;

	if (UNPACK(request, where, "{s:s, s:I, s:[I,I]}", "op", &op, "lane", &lane, "flows",
		   &first, &count))
		return refuse("reset: %s", where.text);
	if (!is_lane(c, lane))
		return no_such_lane(c);
	if (!are_flows(c, first, count))
		return no_such_flows(c);
	lane_id = (uint32_t)lane;
	/* First no more packets of the lane's flows, then none on their way. */
	error = remove_entries(c, lane_id);
	if (!error)
		error = mailbox_call(&c->dp->mailbox, run_reset_lane, &lane_id);
	if (!error)
		error = registers_reset(c->dp->pipeline, lane_id, (uint32_t)first,
					(uint32_t)count);
	return error ? refuse("reset: %s", strerror(abs(error))) : done();
}

static json_t *
do_shutdown(struct commands *c, json_t *request)
{
	(void)request;
	atomic_store(&c->dp->stop, true);
	mailbox_wake(&c->dp->mailbox);
	return done();
}

struct command {
	const char *op;
	json_t *(*run)(struct commands *c, json_t *request);
};

static const struct command table[] = {
	{"hello", do_hello},	     {"program", do_program},
	{"delay", do_delay},	     {"flows", do_flows},
	{"telemetry", do_telemetry}, {"telemetry_stop", do_telemetry_stop},
	{"counters", do_counters},   {"stats", do_stats},
	{"reset", do_reset},	     {"shutdown", do_shutdown},
};

static json_t *
dispatch(struct commands *c, json_t *request)
{
	const char *op = json_string_value(json_object_get(request, "op"));

	for (size_t i = 0; op != NULL && i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(op, table[i].op) == 0)
			return table[i].run(c, request);
	return refuse("op must be one of hello, program, delay, flows, telemetry, "
		      "telemetry_stop, counters, stats, reset, shutdown");
}

json_t *
commands_answer(struct commands *c, const char *line, size_t bytes)
{
	json_error_t where;
	json_t *request = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
	json_t *answer;

	if (request == NULL)
		return refuse("not JSON: %s", where.text);
	answer = dispatch(c, request);
	json_decref(request);
	return answer;
}
