/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "common/clock.h"
#include "io/eal.h"
#include "path/bottleneck.h"
#include "pipeline/registers.h"

#define LANE 0
#define FRAME_BYTES FRAME_BYTES_MAX
#define SENDER (SENDERS_NETWORK + 1)
#define RECEIVER (RECEIVERS_NETWORK + 1)
#define FIRST_PORT 1024u
#define FLOWS_MAX 60000u
/* Arrivals as a share of the rate: the queue fills, and some packets are dropped. */
#define OVERLOAD_PER_CENT 102u
/* Not timed: they warm up caches and branch prediction. */
#define WARM_UP_PACKETS 100000u

struct headers {
	struct rte_ether_hdr ethernet;
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
};

struct bench {
	const char *pipeline; /* native or interpreted */
	struct rte_mempool *pool;
	struct bottleneck bottleneck;
	struct headers headers;
	uint32_t flows;
	uint32_t burst;
	uint32_t next_flow;
	uint64_t gap_ns; /* between two arrivals */
	uint64_t now_ns;
	uint64_t departed;
	uint64_t postcards;
	uint64_t postcard_bytes; /* a sum over them, so that they are read */
};

static void
count_frame(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
	    uint64_t departure_ns)
{
	struct bench *b = context;

	(void)wire;
	(void)lane;
	(void)departure_ns;
	b->departed++;
	rte_pktmbuf_free(mbuf);
}

static void
count_postcard(void *context, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES])
{
	struct bench *b = context;

	(void)lane;
	b->postcards++;
	for (uint32_t i = 0; i < POSTCARD_BYTES; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		b->postcard_bytes += word;
	}
}

static void
make_headers(struct headers *h)
{
	*h = (struct headers){
		.ethernet = {.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)},
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
		       .total_length = rte_cpu_to_be_16(FRAME_BYTES - RTE_ETHER_HDR_LEN),
		       .time_to_live = 64,
		       .next_proto_id = IPPROTO_TCP,
		       .src_addr = rte_cpu_to_be_32(SENDER),
		       .dst_addr = rte_cpu_to_be_32(RECEIVER)},
		.tcp = {.dst_port = RTE_BE16(SINK_PORT), .data_off = 5 << 4},
	};
}

static int
add_flows(struct bench *b, struct pipeline *pipeline)
{
	int error = 0;

	for (uint32_t flow = 0; !error && flow < b->flows; flow++) {
		struct flow_key key = {
			.src = SENDER,
			.dst = RECEIVER,
			.sport = (uint16_t)(FIRST_PORT + flow),
			.dport = SINK_PORT,
			.protocol = IPPROTO_TCP,
		};

		error = registers_flow_add(pipeline, &key, LANE, flow);
	}
	return error ? error : pipeline_commit(pipeline);
}

/* A burst that arrives now; fewer packets where buffers run out. */
static uint32_t
arrive(struct bench *b)
{
	struct rte_mbuf *mbufs[PIPELINE_BURST];
	uint64_t arrivals_ns[PIPELINE_BURST];

	if (rte_pktmbuf_alloc_bulk(b->pool, mbufs, b->burst) < 0)
		return 0;
	for (uint32_t i = 0; i < b->burst; i++) {
		b->headers.tcp.src_port = rte_cpu_to_be_16((uint16_t)(FIRST_PORT + b->next_flow));
		b->next_flow = b->next_flow + 1 == b->flows ? 0 : b->next_flow + 1;
		memcpy(rte_pktmbuf_append(mbufs[i], FRAME_BYTES), &b->headers, sizeof(b->headers));
		arrivals_ns[i] = b->now_ns;
	}
	bottleneck_receive(&b->bottleneck, PIPELINE_SENDERS, mbufs, arrivals_ns, b->burst);
	return b->burst;
}

/* Returns how many packets arrived: all, or fewer where buffers ran out. */
static uint64_t
pass(struct bench *b, uint64_t packets)
{
	uint64_t done = 0;
	uint32_t n;

	while (done < packets) {
		n = arrive(b);
		if (n == 0)
			break;
		bottleneck_advance(&b->bottleneck, b->now_ns);
		b->now_ns += b->gap_ns * n;
		done += n;
	}
	return done;
}

static void
print_result(const struct bench *b, uint64_t packets, uint64_t nanoseconds)
{
	struct discipline_stats queue;

	traffic_manager_stats(&b->bottleneck.tm, LANE, &queue);
	printf("{\"pipeline\": \"%s\", \"packets\": %" PRIu64
	       ", \"flows\": %u, \"burst\": %u, \"seconds\": %.6f, "
	       "\"mpps\": %.4f, \"ns_per_packet\": %.1f, \"departed\": %" PRIu64
	       ", \"dropped\": %" PRIu64 ", \"postcards\": %" PRIu64 "}\n",
	       b->pipeline, packets, b->flows, b->burst, (double)nanoseconds / 1e9,
	       (double)packets * 1e3 / (double)nanoseconds, (double)nanoseconds / (double)packets,
	       b->departed, queue.dropped_packets, b->postcards);
}

static int
measure(struct bench *b, uint64_t packets, struct failure *failure)
{
	int64_t begin_ns, end_ns;
	uint64_t done;

	pass(b, WARM_UP_PACKETS);
	begin_ns = clock_now_ns();
	done = pass(b, packets);
	end_ns = clock_now_ns();
	if (done < packets)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "out of packet buffers after %" PRIu64
				   " packets; raise queue_packets",
				   done);
	bottleneck_advance(&b->bottleneck, EVENT_NEVER - 1);
	print_result(b, packets, (uint64_t)(end_ns - begin_ns));
	return 0;
}

static int
configure_and_measure(struct bench *b, const struct config *config, uint64_t packets,
		      struct failure *failure)
{
	if (traffic_manager_configure(&b->bottleneck.tm, LANE, &config->bottleneck) < 0)
		return failure_set(failure, EXIT_STATUS_CONFIG, "bottleneck: out of range");
	return measure(b, packets, failure);
}

int
bench_request_read(const char *text, struct bench_request *request, struct failure *failure)
{
	char end;

	*request = (struct bench_request){.flows = 50, .burst = 32};
	if (sscanf(text, "%" SCNu64 ",%u,%u%c", &request->packets, &request->flows, &request->burst,
		   &end) <= 3 &&
	    request->packets > 0 && request->flows > 0 && request->flows <= FLOWS_MAX &&
	    request->burst > 0 && request->burst <= PIPELINE_BURST)
		return 0;
	return failure_set(failure, EXIT_STATUS_CONFIG,
			   "--bench: write PACKETS[,FLOWS[,BURST]], with 1 to %u flows and 1 to %u "
			   "packets at once",
			   FLOWS_MAX, PIPELINE_BURST);
}

static int
run_bottleneck(struct bench *b, const struct config *config, struct pipeline *pipeline,
	       uint64_t packets, struct failure *failure)
{
	struct bottleneck_sink sink = {
		.frame = count_frame,
		.postcard = count_postcard,
		.context = b,
	};
	int result;

	if (add_flows(b, pipeline) < 0)
		return failure_set(failure, EXIT_STATUS_TARGET, "the flow table refused %u flows",
				   b->flows);
	if (bottleneck_init(&b->bottleneck, pipeline, 1, PIPELINE_BURST, NULL, &sink) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	result = configure_and_measure(b, config, packets, failure);
	bottleneck_free(&b->bottleneck);
	return result;
}

int
bench_run(const struct config *config, const struct bench_request *request, struct failure *failure)
{
	uint64_t bits = FRAME_BYTES * 8u * SECOND_NS;
	struct bench b = {
		.pipeline = pipeline_names[config->pipeline],
		.flows = request->flows,
		.burst = request->burst,
		.gap_ns = bits / config->bottleneck.rate_bps * 100 / OVERLOAD_PER_CENT,
	};
	struct pipeline *pipeline;
	int result;

	if (eal_start(config, failure) < 0)
		return -1;
	b.pool = eal_packet_pool(config, failure);
	if (b.pool == NULL)
		return -1;
	pipeline = pipeline_create(config->spec, config->native_library, failure);
	if (pipeline == NULL)
		return -1;
	make_headers(&b.headers);
	result = run_bottleneck(&b, config, pipeline, request->packets, failure);
	pipeline_destroy(pipeline);
	rte_eal_cleanup();
	return result;
}
