/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "capture.h"
#include "flows.h"
#include "pipeline/registers.h"
#include "results.h"
#include "stand_in.h"
#include "virtual/driver.h"

#define LANE 0

struct replay {
	struct virtual_driver driver;
	struct failure *failure;
	struct capture capture;
	struct capture_flows *flows;
	struct results results;
	uint64_t departed; /* through the queue */
};

#define REASON_NAME(identifier, name) name,
static const char *const reason_names[N_FRAME_REASONS] = {FRAME_REASONS(REASON_NAME)};

/* The first look, before anything is written: every packet and its flow. */
static int
survey_packet(void *context, const struct capture_packet *packet)
{
	struct replay *r = context;

	if (packet->look.reason != FRAME_LOOKED_AT ||
	    capture_flows_add(r->flows, &packet->look.tuple) == 0)
		return 0;
	return failure_set(r->failure, EXIT_STATUS_CONFIG, "%s: more than %u flows",
			   r->capture.path, r->driver.dp.config.flow_capacity);
}

static int
program_flows(struct replay *r)
{
	uint32_t n = capture_flows_count(r->flows);
	int error = 0;

	for (uint32_t flow = 0; !error && flow < n; flow++) {
		struct flow_key key = stand_in_key(flow, capture_flows_at(r->flows, flow));

		error = registers_flow_add(r->driver.dp.loops[0].pipeline, &key,
					   &(struct flow_action){.lane = LANE, .flow = flow});
	}
	if (!error)
		error = pipeline_commit(r->driver.dp.loops[0].pipeline);
	return error ? failure_set(r->failure, EXIT_STATUS_TARGET,
				   "the flow table refused the flows: %s", strerror(abs(error))) :
		       0;
}

static void
take_departure(struct replay *r, struct rte_mbuf *mbuf)
{
	uint32_t captured;

	if (stand_in_undo(mbuf, &captured))
		r->departed++;
	results_departure(&r->results, mbuf, captured, r->driver.now_ns);
}

/* What leaves now. */
static void
take_frames(struct replay *r)
{
	struct rte_mbuf *mbuf;
	enum wire_id id;

	while ((mbuf = virtual_driver_take(&r->driver, &id)) != NULL) {
		if (id == WIRE_RECEIVERS)
			take_departure(r, mbuf);
		rte_pktmbuf_free(mbuf);
	}
}

/* Work off the events up to a time, each at its own. */
static void
advance_to(struct replay *r, uint64_t end_ns)
{
	uint64_t event_ns;

	while ((event_ns = virtual_driver_next_event(&r->driver)) <= end_ns) {
		virtual_driver_advance(&r->driver, event_ns);
		take_frames(r);
	}
}

/* Where trains are admitted as one, what is due at their instant waits for their last frame. */
static void
receive_at(struct replay *r, enum wire_id wire, struct rte_mbuf *mbuf, uint64_t now_ns)
{
	bool trains = r->driver.dp.config.bottleneck.arrive_as == ARRIVE_AS_TRAINS;

	advance_to(r, trains && now_ns > 0 ? now_ns - 1 : now_ns);
	virtual_driver_receive(&r->driver, wire, mbuf, now_ns);
	if (!trains)
		advance_to(r, now_ns);
}

static int
replay_packet(void *context, const struct capture_packet *packet)
{
	struct replay *r = context;
	struct rte_mempool *pool = r->driver.dp.loops[0].pool;
	int flow = capture_flows_find(r->flows, &packet->look.tuple, false);
	bool reverse = flow < 0 && capture_flows_find(r->flows, &packet->look.tuple, true) >= 0;
	struct rte_mbuf *mbuf = flow >= 0 && packet->look.reason == FRAME_LOOKED_AT ?
					stand_in_make(packet, (uint32_t)flow, pool) :
					stand_in_none(packet, pool);

	if (mbuf == NULL)
		return failure_set(r->failure, EXIT_STATUS_HOST,
				   "out of packet buffers after %" PRIu64
				   " packets; raise queue_packets",
				   r->capture.packets - 1);
	receive_at(r, reverse ? WIRE_RECEIVERS : WIRE_SENDERS, mbuf, packet->now_ns);
	return 0;
}

static int
add_registers(struct replay *r, uint32_t flow, json_t *json)
{
	for (int which = 0; which < N_FLOW_REGISTERS; which++) {
		uint64_t value;

		if (registers_flow(r->driver.dp.loops[0].pipeline, (enum flow_register)which, flow,
				   &value, r->failure) < 0)
			return -1;
		json_object_set_new(json, flow_register_names[which],
				    json_integer((json_int_t)value));
	}
	return 0;
}

static int
add_flow(struct replay *r, uint32_t flow, json_t *flows)
{
	const struct flow_tuple *t = capture_flows_at(r->flows, flow);
	int family = t->version == 6 ? AF_INET6 : AF_INET;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	json_t *json = json_pack("{s:i, s:s, s:s, s:i, s:i, s:i}", "flow", (int)flow, "src",
				 inet_ntop(family, t->src, src, sizeof(src)), "dst",
				 inet_ntop(family, t->dst, dst, sizeof(dst)), "sport",
				 (int)t->sport, "dport", (int)t->dport, "proto", (int)t->protocol);

	json_array_append_new(flows, json);
	return add_registers(r, flow, json);
}

/* How the capture was understood. */
static void
add_reading(const struct capture *c, json_t *summary)
{
	json_t *reasons = json_object();

	for (size_t i = 0; i < N_FRAME_REASONS; i++)
		json_object_set_new(reasons, reason_names[i],
				    json_integer((json_int_t)c->not_looked_at[i]));
	json_object_update_new(
		summary, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "packets",
				   (json_int_t)c->packets, "first_ns", (json_int_t)c->first_ns,
				   "times_backwards", (json_int_t)c->backwards, "furthest_back_ns",
				   (json_int_t)c->furthest_back_ns, "longest_pause_ns",
				   (json_int_t)c->longest_pause_ns, "longest_pause_packet",
				   (json_int_t)c->longest_pause_packet, "fcs_packets",
				   (json_int_t)c->fcs_packets, "trailer_packets",
				   (json_int_t)c->trailer_packets, "not_looked_at", reasons));
}

static int
fill_summary(struct replay *r, const struct collector_stats *postcards, json_t *summary)
{
	struct lane_stats queue;
	json_t *flows = json_array();

	traffic_manager_stats(&r->driver.dp.loops[0].bottleneck.tm, LANE, &queue);
	add_reading(&r->capture, summary);
	json_object_update_new(
		summary, json_pack("{s:I, s:I, s:I, s:I, s:o}", "departed", (json_int_t)r->departed,
				   "dropped", (json_int_t)queue.dropped_packets, "postcards",
				   (json_int_t)postcards->written, "peak_queue_bytes",
				   (json_int_t)queue.peak_bytes, "flows", flows));
	for (uint32_t flow = 0; flow < capture_flows_count(r->flows); flow++)
		if (add_flow(r, flow, flows) < 0)
			return -1;
	if (registers_add_unshaped(summary, &r->driver.dp.loops[0].pipeline, 1, r->failure) < 0)
		return -1;
	return registers_add_histogram(summary, r->driver.dp.loops[0].pipeline, LANE, r->failure);
}

static int
summarise(struct replay *r, const struct collector_stats *postcards)
{
	json_t *summary = json_object();

	if (fill_summary(r, postcards, summary) == 0)
		return results_summarise(&r->results, summary, r->failure);
	json_decref(summary);
	return -1;
}

static int
drain(struct replay *r)
{
	advance_to(r, EVENT_NEVER - 1);
	if (r->driver.now_ns < CAPTURE_CLOCK_END_NS)
		return 0;
	return failure_set(r->failure, EXIT_STATUS_CONFIG,
			   "%s: the last packet leaves more than 78 hours after the first came; "
			   "raise rate_bps",
			   r->capture.path);
}

/* Every packet through, and its postcard to the collector, which is closed. */
static int
pass_packets(struct replay *r, struct collector *collector, struct collector_stats *postcards)
{
	struct telemetry *telemetry = r->driver.dp.telemetry;
	uint64_t lost;
	int result;

	/* In virtual time neither can fail. */
	telemetry_open(telemetry, LANE, collector);
	telemetry_start(telemetry, LANE);
	result = capture_read(&r->capture, replay_packet, r, r->failure);
	if (result == 0)
		result = drain(r);
	telemetry_stop(telemetry, LANE);
	telemetry_finish(telemetry, LANE, postcards, &lost);
	return result;
}

static int
replay_all(struct replay *r)
{
	struct collector *collector;
	struct collector_stats postcards;

	r->results.first_ns = r->capture.first_ns;
	collector = results_open(&r->results, r->failure);
	if (collector != NULL && pass_packets(r, collector, &postcards) == 0 &&
	    results_finish(&r->results, &postcards, r->failure) == 0 &&
	    summarise(r, &postcards) == 0)
		return 0;
	results_discard(&r->results);
	return -1;
}

static int
run_phases(struct replay *r)
{
	struct dataplane *dp = &r->driver.dp;

	if (capture_read(&r->capture, survey_packet, r, r->failure) < 0 || program_flows(r) < 0)
		return -1;
	if (traffic_manager_configure(&dp->loops[0].bottleneck.tm, LANE, &dp->config.bottleneck) <
	    0)
		return failure_set(r->failure, EXIT_STATUS_CONFIG, "bottleneck: out of range");
	return replay_all(r);
}

int
replay_run(const struct config *config, const char *capture, const char *out,
	   struct failure *failure)
{
	static struct replay r;
	int result;

	r.driver.dp.config = *config;
	r.failure = failure;
	r.capture.path = capture;
	r.results.folder = out;
	if (virtual_driver_open(&r.driver, failure) < 0)
		return -1;
	r.flows = capture_flows_create(config->flow_capacity);
	if (r.flows == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	result = run_phases(&r);
	capture_flows_destroy(r.flows);
	virtual_driver_close(&r.driver);
	return result;
}
