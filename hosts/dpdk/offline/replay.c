/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pcap/pcap.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_flows.h"
#include "common/exit_status.h"
#include "common/nanoseconds.h"
#include "core/collector.h"
#include "path/bottleneck.h"
#include "pipeline/register_json.h"
#include "pipeline/registers.h"

#define LANE 0
#define OUT_PATH_BYTES 4096
#define DEPARTURES_FILE "departures.pcap"
#define POSTCARDS_FILE "postcards.raw"
#define SUMMARY_FILE "replay.json"
/* The switch clock's 48 bits: 78 hours. */
#define CLOCK_END_NS (UINT64_C(1) << 48)

struct replay {
	const struct config *config;
	struct pipeline *pipeline;
	struct rte_mempool *pool;
	const char *capture;
	const char *out;
	char *error;
	size_t error_bytes;
	struct capture_flows *flows;
	struct bottleneck bottleneck;
	struct collector *collector;
	pcap_dumper_t *departures;
	uint64_t first_ns; /* the capture's first time; switch time 0 */
	uint64_t last_ns;
	uint64_t packets;
	uint64_t backwards; /* packets whose time was before an earlier one's */
	uint64_t departed;
	uint64_t last_departure_ns;
};

static int
fail(struct replay *r, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->error, r->error_bytes, format, arguments);
	va_end(arguments);
	return code;
}

static pcap_t *
open_capture(struct replay *r)
{
	char reason[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline_with_tstamp_precision(r->capture,
							       PCAP_TSTAMP_PRECISION_NANO, reason);

	if (pcap == NULL) {
		fail(r, EXIT_STATUS_CONFIG, "%s: not a capture that can be read: %s", r->capture,
		     reason);
		return NULL;
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		fail(r, EXIT_STATUS_CONFIG,
		     "%s: link type %s; only Ethernet captures can be replayed", r->capture,
		     pcap_datalink_val_to_name(pcap_datalink(pcap)));
		pcap_close(pcap);
		return NULL;
	}
	return pcap;
}

typedef int (*packet_fn)(struct replay *r, const struct pcap_pkthdr *header, const uint8_t *frame);

static int
for_each_packet(struct replay *r, packet_fn each)
{
	pcap_t *pcap = open_capture(r);
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	uint64_t number = 0;
	int got, code = 0;

	if (pcap == NULL)
		return EXIT_STATUS_CONFIG;
	while (code == 0 && (got = pcap_next_ex(pcap, &header, &frame)) == 1) {
		number++;
		code = each(r, header, frame);
	}
	if (code == 0 && got != PCAP_ERROR_BREAK)
		code = fail(r, EXIT_STATUS_CONFIG, "%s: damaged after packet %" PRIu64 ": %s",
			    r->capture, number, pcap_geterr(pcap));
	pcap_close(pcap);
	return code;
}

static uint64_t
switch_time(struct replay *r, const struct pcap_pkthdr *header)
{
	/* With nanosecond precision tv_usec holds nanoseconds. */
	uint64_t t = (uint64_t)header->ts.tv_sec * SECOND_NS + (uint64_t)header->ts.tv_usec;

	if (r->packets == 0)
		r->first_ns = t;
	if (t < r->first_ns + r->last_ns)
		r->backwards++;
	else
		r->last_ns = t - r->first_ns;
	return r->last_ns;
}

/* Is it one that can be replayed, as far as it alone tells? */
static int
check_packet(struct replay *r, const struct pcap_pkthdr *header, uint64_t now_ns)
{
	if (header->caplen > header->len)
		return fail(r, EXIT_STATUS_CONFIG,
			    "%s: packet %" PRIu64 " says that %u bytes of its %u were captured",
			    r->capture, r->packets, header->caplen, header->len);
	if (header->len > RTE_MBUF_DEFAULT_DATAROOM)
		return fail(r, EXIT_STATUS_CONFIG,
			    "%s: packet %" PRIu64 " has %u bytes, more than %u; capture with "
			    "TSO, GSO and GRO off",
			    r->capture, r->packets, header->len, RTE_MBUF_DEFAULT_DATAROOM);
	if (now_ns >= CLOCK_END_NS)
		return fail(r, EXIT_STATUS_CONFIG,
			    "%s: packet %" PRIu64 " comes more than 78 hours after the first; the "
			    "switch clock has 48 bits",
			    r->capture, r->packets);
	return 0;
}

/* The first look, before anything is written: every packet and its flow. */
static int
survey_packet(struct replay *r, const struct pcap_pkthdr *header, const uint8_t *frame)
{
	uint64_t now_ns = switch_time(r, header);
	struct flow_key key;
	int code;

	r->packets++;
	code = check_packet(r, header, now_ns);
	if (code != 0)
		return code;
	if (!capture_flows_key(frame, header->caplen, &key) ||
	    !capture_flows_is_sound(frame, header->caplen, header->len))
		return 0;
	if (capture_flows_see(r->flows, &key) == 0)
		return 0;
	return fail(r, EXIT_STATUS_CONFIG, "%s: more than %u flows", r->capture,
		    r->config->flow_capacity);
}

static int
survey(struct replay *r)
{
	int code = for_each_packet(r, survey_packet);

	r->packets = 0;
	r->last_ns = 0;
	r->backwards = 0;
	return code;
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
	return error ? fail(r, EXIT_STATUS_TARGET, "the flow table refused the flows: %s",
			    strerror(abs(error))) :
		       0;
}

static struct rte_mbuf *
make_mbuf(struct replay *r, const struct pcap_pkthdr *header, const uint8_t *frame)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(r->pool);
	uint8_t *data = mbuf ? (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)header->len) : NULL;

	if (data == NULL) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	/* Of a capture that was cut short only the length is whole. */
	memcpy(data, frame, header->caplen);
	memset(data + header->caplen, 0, header->len - header->caplen);
	mbuf->hash.usr = header->caplen;
	return mbuf;
}

static int
replay_packet(struct replay *r, const struct pcap_pkthdr *header, const uint8_t *frame)
{
	enum pipeline_port wire = PIPELINE_SENDERS;
	uint64_t now_ns = switch_time(r, header);
	struct rte_mbuf *mbuf;
	struct flow_key key;

	mbuf = make_mbuf(r, header, frame);
	if (mbuf == NULL)
		return fail(r, EXIT_STATUS_HOST,
			    "out of packet buffers after %" PRIu64 " packets; raise queue_packets",
			    r->packets);
	r->packets++;
	if (capture_flows_key(frame, header->caplen, &key) &&
	    capture_flows_is_reverse(r->flows, &key))
		wire = PIPELINE_RECEIVERS;
	bottleneck_arrive(&r->bottleneck, wire, mbuf, now_ns);
	return 0;
}

static void
write_departure(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
		uint64_t departure_ns)
{
	struct replay *r = context;
	uint64_t t = r->first_ns + departure_ns;
	struct pcap_pkthdr header = {
		.ts = {.tv_sec = (time_t)(t / SECOND_NS), .tv_usec = (suseconds_t)(t % SECOND_NS)},
		.caplen = mbuf->hash.usr,
		.len = mbuf->pkt_len,
	};

	(void)lane;
	r->last_departure_ns = RTE_MAX(r->last_departure_ns, departure_ns);
	if (wire == PIPELINE_RECEIVERS) {
		pcap_dump((uint8_t *)r->departures, &header, rte_pktmbuf_mtod(mbuf, uint8_t *));
		r->departed++;
	}
	rte_pktmbuf_free(mbuf);
}

static void
write_postcard(void *context, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES])
{
	struct replay *r = context;

	(void)lane;
	collector_add(r->collector, bytes);
}

static int
open_outputs(struct replay *r)
{
	struct collector_config all = {.mode = COLLECT_ALL};
	char path[OUT_PATH_BYTES];
	pcap_t *form =
		pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);

	if (mkdir(r->out, 0777) < 0 && errno != EEXIST)
		return fail(r, EXIT_STATUS_HOST, "%s: %s", r->out, strerror(errno));
	snprintf(path, sizeof(path), "%s/" DEPARTURES_FILE, r->out);
	r->departures = pcap_dump_open(form, path);
	pcap_close(form);
	if (r->departures == NULL)
		return fail(r, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/" POSTCARDS_FILE, r->out);
	r->collector = collector_open(path, &all);
	if (r->collector == NULL)
		return fail(r, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
	return 0;
}

/* Half a result is none. */
static void
discard_outputs(struct replay *r)
{
	static const char *const names[] = {DEPARTURES_FILE, POSTCARDS_FILE, SUMMARY_FILE};
	char path[OUT_PATH_BYTES];

	if (r->collector != NULL)
		collector_close(r->collector);
	if (r->departures != NULL)
		pcap_dump_close(r->departures);
	for (size_t i = 0; i < RTE_DIM(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->out, names[i]);
		unlink(path);
	}
}

static json_t *
flow_json(struct replay *r, uint32_t flow)
{
	const struct flow_key *k = capture_flows_at(r->flows, flow);
	char src[INET_ADDRSTRLEN], dst[INET_ADDRSTRLEN];
	struct in_addr src_addr = {htonl(k->src)}, dst_addr = {htonl(k->dst)};
	json_t *json = json_pack("{s:i, s:s, s:s, s:i, s:i, s:i}", "flow", (int)flow, "src",
				 inet_ntop(AF_INET, &src_addr, src, sizeof(src)), "dst",
				 inet_ntop(AF_INET, &dst_addr, dst, sizeof(dst)), "sport",
				 (int)k->sport, "dport", (int)k->dport, "proto", (int)k->protocol);

	for (int which = 0; which < N_FLOW_REGISTERS; which++)
		json_object_set_new(json, flow_register_names[which],
				    json_integer((json_int_t)registers_flow(
					    r->pipeline, (enum flow_register)which, flow)));
	return json;
}

static json_t *
summary_json(struct replay *r, const struct collector_stats *postcards)
{
	struct discipline_stats queue;
	json_t *flows = json_array();
	json_t *summary, *unshaped;

	traffic_manager_stats(&r->bottleneck.tm, LANE, &queue);
	for (uint32_t flow = 0; flow < capture_flows_count(r->flows); flow++)
		json_array_append_new(flows, flow_json(r, flow));
	summary =
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "packets",
			  (json_int_t)r->packets, "departed", (json_int_t)r->departed, "dropped",
			  (json_int_t)queue.dropped_packets, "postcards",
			  (json_int_t)postcards->written, "peak_queue_bytes",
			  (json_int_t)queue.peak_bytes, "times_backwards", (json_int_t)r->backwards,
			  "first_ns", (json_int_t)r->first_ns, "flows", flows);
	unshaped = register_json_unshaped(r->pipeline);
	json_object_update(summary, unshaped);
	json_decref(unshaped);
	json_object_set_new(summary, "histogram_bin_ns",
			    json_integer((json_int_t)HISTOGRAM_BIN_NS));
	json_object_set_new(summary, "histogram", register_json_histogram(r->pipeline, LANE));
	return summary;
}

/* 0 or the errno of a write that failed, now or before. */
static int
close_departures(struct replay *r)
{
	bool failed = pcap_dump_flush(r->departures) != 0;
	int error = failed ? errno : 0;

	if (!failed && ferror(pcap_dump_file(r->departures)))
		error = EIO;
	pcap_dump_close(r->departures);
	r->departures = NULL;
	return error;
}

static int
write_summary(struct replay *r, const struct collector_stats *postcards)
{
	json_t *summary = summary_json(r, postcards);
	char path[OUT_PATH_BYTES];
	int error;

	snprintf(path, sizeof(path), "%s/" SUMMARY_FILE, r->out);
	error = json_dump_file(summary, path, JSON_INDENT(1)) == 0 ? 0 : errno;
	json_decref(summary);
	return error;
}

static int
close_outputs(struct replay *r)
{
	struct collector_stats postcards = collector_close(r->collector);
	int error = close_departures(r);

	r->collector = NULL;
	if (!error)
		error = postcards.error;
	if (!error)
		error = write_summary(r, &postcards);
	return error ? fail(r, EXIT_STATUS_HOST, "%s: the results could not be written: %s", r->out,
			    strerror(error)) :
		       0;
}

static int
drain(struct replay *r)
{
	bottleneck_advance(&r->bottleneck, EVENT_NEVER - 1);
	if (r->last_departure_ns < CLOCK_END_NS)
		return 0;
	return fail(r, EXIT_STATUS_CONFIG,
		    "%s: the last packet leaves more than 78 hours after the first came; raise "
		    "rate_bps",
		    r->capture);
}

static int
replay_all(struct replay *r)
{
	int code = open_outputs(r);

	if (code == 0)
		code = for_each_packet(r, replay_packet);
	if (code == 0)
		code = drain(r);
	if (code == 0)
		code = close_outputs(r);
	if (code != 0)
		discard_outputs(r);
	return code;
}

static int
prepare(struct replay *r)
{
	struct bottleneck_sink sink = {
		.frame = write_departure,
		.postcard = write_postcard,
		.context = r,
	};
	int code = survey(r);

	if (code == 0)
		code = program_flows(r);
	if (code != 0)
		return code;
	if (bottleneck_init(&r->bottleneck, r->pipeline, 1, 1, &sink) < 0)
		return fail(r, EXIT_STATUS_HOST, "out of memory");
	if (traffic_manager_configure(&r->bottleneck.tm, LANE, &r->config->replay_lane) < 0)
		return fail(r, EXIT_STATUS_CONFIG, "bottleneck: out of range");
	return 0;
}

int
replay_run(const struct config *config, struct pipeline *pipeline, struct rte_mempool *pool,
	   const char *capture, const char *out, char *error, size_t error_bytes)
{
	struct replay r = {
		.config = config,
		.pipeline = pipeline,
		.pool = pool,
		.capture = capture,
		.out = out,
		.error = error,
		.error_bytes = error_bytes,
		.flows = capture_flows_create(config->flow_capacity),
	};
	int code;

	if (r.flows == NULL)
		return fail(&r, EXIT_STATUS_HOST, "out of memory");
	code = prepare(&r);
	if (code == 0)
		code = replay_all(&r);
	if (r.bottleneck.pipeline != NULL)
		bottleneck_free(&r.bottleneck);
	capture_flows_destroy(r.flows);
	return code;
}
