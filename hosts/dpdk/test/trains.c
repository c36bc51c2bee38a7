/* SPDX-License-Identifier: Apache-2.0 */
/* Trains on their whole path, in bursts as on a clock: beside a lane that admits single frames,
 * and cut by the bursts through P4 ingress.
 * Usage: test-trains SPEC
 */
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "path/bottleneck.h"
#include "pipeline/registers.h"
#include "start_dpdk.h"

#define FRAME_BYTES FRAME_BYTES_MAX
#define ROOM 10u /* frames */
#define BURST 3u
#define LANES 2u
#define TRAINS 0u /* this lane's admits these */
#define FRAMES 1u
#define PSH 0x08
#define SENDER_PORT 10000u

struct headers {
	struct rte_ether_hdr ethernet;
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
};

#define PAYLOAD (FRAME_BYTES - sizeof(struct headers))

struct tally {
	uint32_t departed[LANES];
	uint32_t dropped[LANES];
	uint32_t first_dropped_seq[LANES];
	uint32_t frames;
};

struct rig {
	struct rte_mempool *pool;
	struct pipeline *pipeline;
	struct bottleneck bottleneck;
	struct tally seen;
	uint32_t seq[LANES];
};

static void
take_frame(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
	   uint64_t departure_ns)
{
	struct rig *rig = context;

	CHECK(wire == PIPELINE_RECEIVERS && lane < LANES && mbuf->pkt_len == FRAME_BYTES);
	rig->seen.frames++;
	rte_pktmbuf_free(mbuf);
}

static void
take_postcard(void *context, uint32_t lane, const uint8_t *bytes)
{
	struct tally *seen = &((struct rig *)context)->seen;
	struct postcard p;

	postcard_decode(bytes, &p);
	CHECK(p.lane == lane && p.flow == lane && p.payload_bytes == PAYLOAD);
	if (p.kind == POSTCARD_DEPARTED)
		seen->departed[lane]++;
	else if (seen->dropped[lane]++ == 0)
		seen->first_dropped_seq[lane] = p.tcp_seq;
}

static void
open_rig(struct rig *rig, const char *spec)
{
	struct bottleneck_sink sink = {take_frame, take_postcard, rig};
	struct lane_config config = {.rate_bps = 1000000, .limit.value = ROOM * FRAME_BYTES};
	struct failure failure = {0};

	rig->pool = start_dpdk(63);
	rig->pipeline = pipeline_create(spec, "", &failure);
	CHECK(rig->pipeline != NULL);
	CHECK(bottleneck_init(&rig->bottleneck, rig->pipeline, LANES, BURST, NULL, &sink) == 0);
	for (uint32_t lane = 0; lane < LANES; lane++) {
		struct flow_key key = {
			.src = SENDERS_NETWORK + (lane << 8) + 1,
			.dst = RECEIVERS_NETWORK + (lane << 8) + 1,
			.sport = SENDER_PORT,
			.dport = SINK_PORT,
			.protocol = IPPROTO_TCP,
		};

		config.arrive_as = lane == TRAINS ? ARRIVE_AS_TRAINS : ARRIVE_AS_FRAMES;
		CHECK(registers_flow_add(rig->pipeline, &key,
					 &(struct flow_action){.lane = lane, .flow = lane}) == 0);
		CHECK(traffic_manager_configure(&rig->bottleneck.tm, lane, &config) == 0);
	}
	CHECK(pipeline_commit(rig->pipeline) == 0);
}

/* The lane's next frames in sequence, PSH in the last. */
static void
send_segments(struct rig *rig, uint32_t lane, uint32_t n, uint64_t now_ns)
{
	struct headers h = {
		.ethernet = {.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)},
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
		       .total_length = rte_cpu_to_be_16(FRAME_BYTES - RTE_ETHER_HDR_LEN),
		       .next_proto_id = IPPROTO_TCP,
		       .src_addr = rte_cpu_to_be_32(SENDERS_NETWORK + (lane << 8) + 1),
		       .dst_addr = rte_cpu_to_be_32(RECEIVERS_NETWORK + (lane << 8) + 1)},
		.tcp = {.src_port = rte_cpu_to_be_16(SENDER_PORT),
			.dst_port = RTE_BE16(SINK_PORT),
			.data_off = 5 << 4,
			.tcp_flags = RTE_TCP_ACK_FLAG},
	};

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rig->pool);

		CHECK(mbuf != NULL);
		h.tcp.sent_seq = rte_cpu_to_be_32(rig->seq[lane]);
		if (i + 1 == n)
			h.tcp.tcp_flags |= PSH;
		memcpy(rte_pktmbuf_append(mbuf, FRAME_BYTES), &h, sizeof(h));
		bottleneck_receive(&rig->bottleneck, PIPELINE_SENDERS, &mbuf, &now_ns, 1);
		rig->seq[lane] += PAYLOAD;
	}
}

static struct lane_stats
queue_of(const struct rig *rig, uint32_t lane)
{
	struct lane_stats stats;

	traffic_manager_stats(&rig->bottleneck.tm, lane, &stats);
	return stats;
}

/* Of three trains of four the third does not fit, although two of its frames would. */
static void
check_whole_trains(struct rig *rig)
{
	for (uint32_t i = 0; i < 3; i++) {
		send_segments(rig, TRAINS, 4, 1000);
		send_segments(rig, FRAMES, 4, 1000);
	}
	bottleneck_advance(&rig->bottleneck, 1000);
	CHECK(queue_of(rig, TRAINS).queue_packets == 8 &&
	      queue_of(rig, FRAMES).queue_packets == 10);
	CHECK(queue_of(rig, TRAINS).dropped_packets == 4);
	CHECK(queue_of(rig, FRAMES).dropped_packets == 2);
	CHECK(rig->seen.dropped[TRAINS] == 4 && rig->seen.dropped[FRAMES] == 2);
	CHECK(rig->seen.first_dropped_seq[TRAINS] == 8 * PAYLOAD);
	CHECK(rig->seen.first_dropped_seq[FRAMES] == 10 * PAYLOAD);
}

/* A train that still fits, and one that is cut in two by its time of arrival. */
static void
check_what_still_fits(struct rig *rig)
{
	send_segments(rig, TRAINS, 1, 2000);
	bottleneck_advance(&rig->bottleneck, 2000);
	CHECK(queue_of(rig, TRAINS).queue_packets == 9);
	send_segments(rig, TRAINS, 2, 3000);
	bottleneck_advance(&rig->bottleneck, 3000);
	CHECK(queue_of(rig, TRAINS).queue_packets == 9);
	send_segments(rig, TRAINS, 1, 4000);
	send_segments(rig, TRAINS, 1, 5000);
	bottleneck_advance(&rig->bottleneck, 5000);
	CHECK(queue_of(rig, TRAINS).queue_packets == ROOM);
	CHECK(queue_of(rig, TRAINS).dropped_packets == 4 + 2 + 1);
}

static uint64_t
register_of(struct rig *rig, enum flow_register which, uint32_t flow)
{
	struct failure failure = {0};
	uint64_t value = 0;

	CHECK(registers_flow(rig->pipeline, which, flow, &value, &failure) == 0);
	return value;
}

static void
check_conservation(struct rig *rig)
{
	bottleneck_advance(&rig->bottleneck, EVENT_NEVER - 1);
	CHECK(rig->seen.frames == 2 * ROOM);
	for (uint32_t lane = 0; lane < LANES; lane++) {
		uint64_t arrived = register_of(rig, FLOW_ARRIVED_PACKETS, lane);

		CHECK(arrived * PAYLOAD == rig->seq[lane]);
		CHECK(rig->seen.departed[lane] == ROOM);
		CHECK(arrived == rig->seen.departed[lane] + rig->seen.dropped[lane]);
		CHECK(register_of(rig, FLOW_DROPPED_PACKETS, lane) == rig->seen.dropped[lane]);
		CHECK(register_of(rig, FLOW_IN_QUEUE_BYTES, lane) == 0);
	}
	CHECK(rte_mempool_in_use_count(rig->pool) == 0);
}

int
main(int argc, char **argv)
{
	static struct rig rig;

	CHECK(argc == 2);
	open_rig(&rig, argv[1]);
	check_whole_trains(&rig);
	check_what_still_fits(&rig);
	check_conservation(&rig);
	bottleneck_free(&rig.bottleneck);
	pipeline_destroy(rig.pipeline);
	rte_eal_cleanup();
	return 0;
}
