/* SPDX-License-Identifier: Apache-2.0 */
/* P4's second pass at the ends of its ranges, which no replay reaches: the last
 * lane and flow, times of 48 bits, the lane's postcard number over its wrap, and the last of several
 * queues.
 * Usage: test-egress-limits SPEC [LIBRARY]: native code of it, else interpreted
 */
#include <string.h>

#include <rte_mbuf.h>

#include "pipeline/pipeline.h"
#include "pipeline/registers.h"
#include "start_dpdk.h"

#define LAST_LANE (LANES_MAX - 1)
#define LAST_FLOW (FLOW_CAPACITY_MAX - 1)
#define TIME_END ((UINT64_C(1) << CLOCK_BITS) - 1)
#define LAST_QUEUE (QUEUES_MAX - 1)
#define OWN_BYTES 0xfedcba98u
#define FRAME_BYTES FRAME_BYTES_MIN

/* A packet as the traffic manager hands it to egress: intrinsic, bridge, frame. */
static struct rte_mbuf *
make_packet(struct rte_mempool *pool, enum pass pass, uint8_t queues)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *bytes;

	CHECK(mbuf != NULL);
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf, INTRINSIC_BYTES + BRIDGE_BYTES + FRAME_BYTES);
	intrinsic_encode(bytes, &(struct intrinsic){
					.pass = (uint8_t)pass,
					.packet_bytes = FRAME_BYTES,
					.queues = queues,
					.queue_bytes = UINT32_MAX,
					.own_queue_bytes = OWN_BYTES,
					.enqueue_ns = TIME_END - 5,
					.dequeue_ns = TIME_END,
				});
	bytes += INTRINSIC_BYTES;
	bridge_encode(bytes, &(struct bridge){
				     .lane = LAST_LANE,
				     .payload_bytes = 0xfedc,
				     .flow = LAST_FLOW,
				     .tcp_seq = 0x89abcdef,
				     .tcp_flags = 0xff,
			     });
	memset(bytes + BRIDGE_BYTES, 0x5a, FRAME_BYTES);
	return mbuf;
}

/* Of a lane with several queues, what is behind the postcard. */
static void
check_queue(const uint8_t *bytes, uint8_t queues)
{
	struct queue_postcard q;

	CHECK(postcard_version(bytes) == (queues ? POSTCARD_VERSION_QUEUES : POSTCARD_VERSION));
	CHECK(postcard_size(bytes) == (queues ? POSTCARD_BYTES_MAX : POSTCARD_BYTES));
	if (queues == 0)
		return;
	queue_postcard_decode(bytes + POSTCARD_BYTES, &q);
	CHECK(q.queue == queues - 1 && q.reserved == 0 && q.own_queue_bytes == OWN_BYTES);
}

static void
check_postcard(const struct pipeline_slot *slot, uint8_t kind, uint32_t lane_seq)
{
	struct postcard p;

	CHECK(slot->has_postcard);
	postcard_decode(slot->postcard, &p);
	CHECK(p.kind == kind && p.lane == LAST_LANE && p.flow == LAST_FLOW);
	CHECK(p.packet_bytes == FRAME_BYTES && p.queue_bytes == UINT32_MAX);
	CHECK(p.enqueue_ns == TIME_END - 5 && p.dequeue_ns == TIME_END);
	CHECK(p.tcp_seq == 0x89abcdef && p.payload_bytes == 0xfedc && p.tcp_flags == 0xff);
	CHECK(p.lane_seq == lane_seq);
	CHECK(slot->postcard[POSTCARD_BYTES - 1] == 0);
}

static void
check_frame(const struct pipeline_slot *slot)
{
	const uint8_t *frame = rte_pktmbuf_mtod(slot->mbuf, const uint8_t *);

	CHECK(slot->port == PIPELINE_EGRESS && slot->mbuf->pkt_len == FRAME_BYTES);
	for (uint32_t i = 0; i < FRAME_BYTES; i++)
		CHECK(frame[i] == 0x5a);
}

/* Four packets around the wrap, one of them dropped; two of a lane with several queues. */
static void
run_packets(struct pipeline *p, struct rte_mempool *pool)
{
	static const enum pass passes[] = {PASS_DEPARTED, PASS_DEPARTED, PASS_DROPPED,
					   PASS_DEPARTED};
	static const uint8_t queues[] = {0, 1 + LAST_QUEUE, 1, 0};
	struct pipeline_slot *slots = pipeline_slots(p);

	for (uint32_t i = 0; i < RTE_DIM(passes); i++)
		slots[i].mbuf = make_packet(pool, passes[i], queues[i]);
	pipeline_run(p, RTE_DIM(passes));
	for (uint32_t i = 0; i < RTE_DIM(passes); i++) {
		bool dropped = passes[i] == PASS_DROPPED;

		check_postcard(&slots[i], dropped ? POSTCARD_DROPPED : POSTCARD_DEPARTED,
			       UINT32_MAX - 1 + i);
		check_queue(slots[i].postcard, queues[i]);
		if (dropped)
			CHECK(slots[i].port == PIPELINE_TELEMETRY);
		else
			check_frame(&slots[i]);
		rte_pktmbuf_free(slots[i].mbuf);
	}
}

static uint64_t
value_of(struct pipeline *p, enum flow_register which, uint32_t flow)
{
	struct failure failure = {0};
	uint64_t value = 0;

	CHECK(registers_flow(p, which, flow, &value, &failure) == 0);
	return value;
}

static uint64_t
sum_of(struct pipeline *p, enum flow_register which)
{
	uint64_t sum = 0;

	for (uint32_t flow = 0; flow <= LAST_FLOW; flow++)
		sum += value_of(p, which, flow);
	return sum;
}

static uint64_t
bin_of(struct pipeline *p, uint32_t lane, uint32_t bin)
{
	struct failure failure = {0};
	uint64_t value = 0;

	CHECK(registers_histogram(p, lane, bin, &value, &failure) == 0);
	return value;
}

/* The last flow's and lane's registers have it all and no other has any. */
static void
check_registers(struct pipeline *p)
{
	CHECK(value_of(p, FLOW_DEPARTED_PACKETS, LAST_FLOW) == 3);
	CHECK(value_of(p, FLOW_DEPARTED_BYTES, LAST_FLOW) == 3 * FRAME_BYTES);
	CHECK(value_of(p, FLOW_DROPPED_PACKETS, LAST_FLOW) == 1);
	CHECK(value_of(p, FLOW_PEAK_QUEUE_BYTES, LAST_FLOW) == 4 * FRAME_BYTES);
	CHECK(sum_of(p, FLOW_DEPARTED_PACKETS) == 3 && sum_of(p, FLOW_DROPPED_PACKETS) == 1);
	CHECK(sum_of(p, FLOW_IN_QUEUE_BYTES) == 0 && sum_of(p, FLOW_ARRIVED_PACKETS) == 0);
	CHECK(bin_of(p, LAST_LANE, 0) == 3);
	CHECK(bin_of(p, LAST_LANE - 1, HISTOGRAM_BINS - 1) == 0);
}

/* A register that is not there is named, and is no zero. */
static void
check_missing_register(struct pipeline *p)
{
	struct failure failure = {0};
	uint64_t value;

	CHECK(registers_flow(p, FLOW_ARRIVED_BYTES, LAST_FLOW + 1, &value, &failure) < 0);
	CHECK(strstr(failure.text, "ingress_arrived_bytes[65536]") != NULL);
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool = start_dpdk(63);
	struct failure failure = {0};
	struct pipeline *p;

	CHECK(argc == 2 || argc == 3);
	p = pipeline_create(argv[1], argc == 3 ? argv[2] : "", &failure);
	CHECK(p != NULL);
	CHECK(pipeline_register_write(p, P4_LANE_POSTCARDS, LAST_LANE, UINT32_MAX - 1) == 0);
	CHECK(pipeline_register_write(p, P4_IN_QUEUE_BYTES, LAST_FLOW, 4 * FRAME_BYTES) == 0);
	run_packets(p, pool);
	check_registers(p);
	check_missing_register(p);
	pipeline_destroy(p);
	rte_eal_cleanup();
	return 0;
}
