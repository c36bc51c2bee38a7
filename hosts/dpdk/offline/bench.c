/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_pause.h>
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

/* One loop's; a core's own from its cache lines to its packets. */
struct bench {
	_Alignas(RTE_CACHE_LINE_SIZE) struct rte_mempool *pool;
	struct pipeline *pipeline;
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
	uint64_t packets;	 /* that are timed */
	uint64_t done;		 /* of those */
	int64_t begin_ns;
	int64_t end_ns;
	struct benches *all;
};

struct benches {
	struct bench loops[LOOPS_MAX];
	uint32_t n;
	atomic_uint warm; /* loops that are ready to be timed */
};

static void
count_frame(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
	    uint64_t departure_ns)
{
	struct bench *b = context;

	b->departed++;
	rte_pktmbuf_free(mbuf);
}

static void
count_postcard(void *context, uint32_t lane, const uint8_t *bytes)
{
	struct bench *b = context;

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
add_flows(struct bench *b)
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

		error = registers_flow_add(b->pipeline, &key,
					   &(struct flow_action){.lane = LANE, .flow = flow});
	}
	return error ? error : pipeline_commit(b->pipeline);
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

/* Nobody is timed before all are warm, so that all are timed together. */
static int
measure(void *argument)
{
	struct bench *b = argument;

	pass(b, WARM_UP_PACKETS);
	atomic_fetch_add(&b->all->warm, 1);
	while (atomic_load(&b->all->warm) < b->all->n)
		rte_pause();
	b->begin_ns = clock_now_ns();
	b->done = pass(b, b->packets);
	b->end_ns = clock_now_ns();
	bottleneck_advance(&b->bottleneck, EVENT_NEVER - 1);
	return 0;
}

static void
measure_all(struct benches *all, const struct config *config)
{
	for (uint32_t i = 1; i < all->n; i++)
		rte_eal_remote_launch(measure, &all->loops[i], config->cores[i]);
	measure(&all->loops[0]);
	rte_eal_mp_wait_lcore();
}

/* From the first begin to the last end. */
static uint64_t
elapsed_ns(const struct benches *all)
{
	int64_t begin_ns = all->loops[0].begin_ns, end_ns = all->loops[0].end_ns;

	for (uint32_t i = 1; i < all->n; i++) {
		begin_ns = RTE_MIN(begin_ns, all->loops[i].begin_ns);
		end_ns = RTE_MAX(end_ns, all->loops[i].end_ns);
	}
	return (uint64_t)(end_ns - begin_ns);
}

static void
print_result(const struct benches *all, const struct config *config, uint64_t packets)
{
	uint64_t departed = 0, dropped = 0, postcards = 0, nanoseconds = elapsed_ns(all);

	for (uint32_t i = 0; i < all->n; i++) {
		const struct bench *b = &all->loops[i];
		struct lane_stats queue;

		traffic_manager_stats(&b->bottleneck.tm, LANE, &queue);
		departed += b->departed;
		dropped += queue.dropped_packets;
		postcards += b->postcards;
	}
	printf("{\"pipeline\": \"%s\", \"loops\": %u, \"packets\": %" PRIu64
	       ", \"flows\": %u, \"burst\": %u, \"seconds\": %.6f, "
	       "\"mpps\": %.4f, \"ns_per_packet\": %.1f, \"departed\": %" PRIu64
	       ", \"dropped\": %" PRIu64 ", \"postcards\": %" PRIu64 "}\n",
	       pipeline_names[config->pipeline], all->n, packets, all->loops[0].flows,
	       all->loops[0].burst, (double)nanoseconds / 1e9,
	       (double)packets * 1e3 / (double)nanoseconds, (double)nanoseconds / (double)packets,
	       departed, dropped, postcards);
}

static int
report(const struct benches *all, const struct config *config, struct failure *failure)
{
	uint64_t packets = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct bench *b = &all->loops[i];

		packets += b->packets;
		if (b->done < b->packets)
			return failure_set(failure, EXIT_STATUS_HOST,
					   "out of packet buffers after %" PRIu64
					   " packets; raise queue_packets",
					   b->done);
	}
	print_result(all, config, packets);
	return 0;
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
open_bench(struct bench *b, const struct config *config, uint32_t loop, struct failure *failure)
{
	struct bottleneck_sink sink = {
		.frame = count_frame,
		.postcard = count_postcard,
		.context = b,
	};

	b->pool = eal_packet_pool(config, loop, failure);
	if (b->pool == NULL)
		return -1;
	b->pipeline = pipeline_create(config->spec, config->native_library, failure);
	if (b->pipeline == NULL)
		return -1;
	make_headers(&b->headers);
	if (add_flows(b) < 0)
		return failure_set(failure, EXIT_STATUS_TARGET, "the flow table refused %u flows",
				   b->flows);
	if (bottleneck_init(&b->bottleneck, b->pipeline, 1, PIPELINE_BURST, NULL, &sink) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	if (traffic_manager_configure(&b->bottleneck.tm, LANE, &config->bottleneck) < 0)
		return failure_set(failure, EXIT_STATUS_CONFIG, "bottleneck: out of range");
	return 0;
}

static void
close_bench(struct bench *b)
{
	bottleneck_free(&b->bottleneck);
	pipeline_destroy(b->pipeline);
}

int
bench_run(const struct config *config, const struct bench_request *request, struct failure *failure)
{
	static struct benches all;
	uint64_t bits = FRAME_BYTES * 8u * SECOND_NS;
	int result;

	if (eal_start(config, failure) < 0)
		return -1;
	all.n = config->n_loops;
	for (uint32_t i = 0; i < all.n; i++) {
		all.loops[i] = (struct bench){
			.all = &all,
			.packets = request->packets,
			.flows = request->flows,
			.burst = request->burst,
			.gap_ns = bits / config->bottleneck.rate_bps * 100 / OVERLOAD_PER_CENT,
		};
		if (open_bench(&all.loops[i], config, i, failure) < 0)
			return -1;
	}
	measure_all(&all, config);
	result = report(&all, config, failure);
	for (uint32_t i = 0; i < all.n; i++)
		close_bench(&all.loops[i]);
	rte_eal_cleanup();
	return result;
}
