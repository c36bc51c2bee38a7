/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "capture.h"
#include "capture_flows.h"
#include "path/bottleneck.h"
#include "pipeline/register_json.h"
#include "results.h"

#define LANE 0

struct replay {
	const struct config *config;
	struct pipeline *pipeline;
	struct rte_mempool *pool;
	struct failure *failure;
	struct capture capture;
	struct capture_flows *flows;
	struct bottleneck bottleneck;
	struct results results;
	uint64_t last_departure_ns;
};

/* The first look, before anything is written: every packet and its flow. */
static int
survey_packet(void *context, const struct capture_packet *packet)
{
	struct replay *r = context;
	struct flow_key key;

	if (!capture_flows_key(packet->frame, packet->captured, &key) ||
	    !capture_flows_is_sound(packet->frame, packet->captured, packet->bytes))
		return 0;
	if (capture_flows_add(r->flows, &key) == 0)
		return 0;
	return failure_set(r->failure, EXIT_STATUS_CONFIG, "%s: more than %u flows",
			   r->capture.path, r->config->flow_capacity);
}

static int
program_flows(struct replay *r)
{
	uint32_t n = capture_flows_count(r->flows);
	int error = 0;

	for (uint32_t flow = 0; !error && flow < n; flow++)
		error = registers_flow_add(r->pipeline, capture_flows_at(r->flows, flow), LANE,
					   flow);
	if (!error)
		error = pipeline_commit(r->pipeline);
	return error ? failure_set(r->failure, EXIT_STATUS_TARGET,
				   "the flow table refused the flows: %s", strerror(abs(error))) :
		       0;
}

static struct rte_mbuf *
make_mbuf(struct replay *r, const struct capture_packet *packet)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(r->pool);
	uint8_t *data = mbuf ? (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)packet->bytes) : NULL;

	if (data == NULL) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	/* Of a capture that was cut short only the length is whole. */
	memcpy(data, packet->frame, packet->captured);
	memset(data + packet->captured, 0, packet->bytes - packet->captured);
	mbuf->hash.usr = packet->captured;
	return mbuf;
}

static int
replay_packet(void *context, const struct capture_packet *packet)
{
	struct replay *r = context;
	enum pipeline_port wire = PIPELINE_SENDERS;
	struct rte_mbuf *mbuf = make_mbuf(r, packet);
	struct flow_key key;

	if (mbuf == NULL)
		return failure_set(r->failure, EXIT_STATUS_HOST,
				   "out of packet buffers after %" PRIu64
				   " packets; raise queue_packets",
				   r->capture.packets - 1);
	if (capture_flows_key(packet->frame, packet->captured, &key) &&
	    capture_flows_is_reverse(r->flows, &key))
		wire = PIPELINE_RECEIVERS;
	bottleneck_arrive(&r->bottleneck, wire, mbuf, packet->now_ns);
	return 0;
}

static void
write_departure(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
		uint64_t departure_ns)
{
	struct replay *r = context;

	(void)lane;
	r->last_departure_ns = RTE_MAX(r->last_departure_ns, departure_ns);
	if (wire == PIPELINE_RECEIVERS)
		results_departure(&r->results, mbuf, departure_ns);
	rte_pktmbuf_free(mbuf);
}

static void
write_postcard(void *context, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES])
{
	struct replay *r = context;

	(void)lane;
	results_postcard(&r->results, bytes);
}

static int
add_registers(struct replay *r, uint32_t flow, json_t *json)
{
	for (int which = 0; which < N_FLOW_REGISTERS; which++) {
		uint64_t value;

		if (registers_flow(r->pipeline, (enum flow_register)which, flow, &value,
				   r->failure) < 0)
			return -1;
		json_object_set_new(json, flow_register_names[which],
				    json_integer((json_int_t)value));
	}
	return 0;
}

static int
add_flow(struct replay *r, uint32_t flow, json_t *flows)
{
	const struct flow_key *k = capture_flows_at(r->flows, flow);
	char src[INET_ADDRSTRLEN], dst[INET_ADDRSTRLEN];
	struct in_addr src_addr = {htonl(k->src)}, dst_addr = {htonl(k->dst)};
	json_t *json = json_pack("{s:i, s:s, s:s, s:i, s:i, s:i}", "flow", (int)flow, "src",
				 inet_ntop(AF_INET, &src_addr, src, sizeof(src)), "dst",
				 inet_ntop(AF_INET, &dst_addr, dst, sizeof(dst)), "sport",
				 (int)k->sport, "dport", (int)k->dport, "proto", (int)k->protocol);

	json_array_append_new(flows, json);
	return add_registers(r, flow, json);
}

static int
fill_summary(struct replay *r, const struct collector_stats *postcards, json_t *summary)
{
	struct discipline_stats queue;
	json_t *flows = json_array();

	traffic_manager_stats(&r->bottleneck.tm, LANE, &queue);
	json_object_update_new(summary,
			       json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "packets",
					 (json_int_t)r->capture.packets, "departed",
					 (json_int_t)r->results.departed, "dropped",
					 (json_int_t)queue.dropped_packets, "postcards",
					 (json_int_t)postcards->written, "peak_queue_bytes",
					 (json_int_t)queue.peak_bytes, "times_backwards",
					 (json_int_t)r->capture.backwards, "first_ns",
					 (json_int_t)r->capture.first_ns, "flows", flows));
	for (uint32_t flow = 0; flow < capture_flows_count(r->flows); flow++)
		if (add_flow(r, flow, flows) < 0)
			return -1;
	if (register_json_add_unshaped(summary, r->pipeline, r->failure) < 0)
		return -1;
	return register_json_add_histogram(summary, r->pipeline, LANE, r->failure);
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
	bottleneck_advance(&r->bottleneck, EVENT_NEVER - 1);
	if (r->last_departure_ns < CAPTURE_CLOCK_END_NS)
		return 0;
	return failure_set(r->failure, EXIT_STATUS_CONFIG,
			   "%s: the last packet leaves more than 78 hours after the first came; "
			   "raise rate_bps",
			   r->capture.path);
}

static int
replay_all(struct replay *r)
{
	struct collector_stats postcards;

	r->results.first_ns = r->capture.first_ns;
	if (results_open(&r->results, r->failure) == 0 &&
	    capture_read(&r->capture, replay_packet, r, r->failure) == 0 && drain(r) == 0 &&
	    results_finish(&r->results, &postcards, r->failure) == 0 &&
	    summarise(r, &postcards) == 0)
		return 0;
	results_discard(&r->results);
	return -1;
}

static int
run_phases(struct replay *r)
{
	struct bottleneck_sink sink = {
		.frame = write_departure,
		.postcard = write_postcard,
		.context = r,
	};
	int result;

	if (capture_read(&r->capture, survey_packet, r, r->failure) < 0 || program_flows(r) < 0)
		return -1;
	if (bottleneck_init(&r->bottleneck, r->pipeline, 1, 1, &sink) < 0)
		return failure_set(r->failure, EXIT_STATUS_HOST, "out of memory");
	if (traffic_manager_configure(&r->bottleneck.tm, LANE, &r->config->bottleneck) < 0)
		result = failure_set(r->failure, EXIT_STATUS_CONFIG, "bottleneck: out of range");
	else
		result = replay_all(r);
	bottleneck_free(&r->bottleneck);
	return result;
}

int
replay_run(const struct config *config, struct pipeline *pipeline, struct rte_mempool *pool,
	   const char *capture, const char *out, struct failure *failure)
{
	struct replay r = {
		.config = config,
		.pipeline = pipeline,
		.pool = pool,
		.failure = failure,
		.capture = {.path = capture},
		.flows = capture_flows_create(config->flow_capacity),
		.results = {.folder = out},
	};
	int result;

	if (r.flows == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	result = run_phases(&r);
	capture_flows_destroy(r.flows);
	return result;
}
