/* SPDX-License-Identifier: Apache-2.0 */
/* P4's second pass of packets that the queue marked: CE is set, the checksum of the IPv4 header is
 * the right one for each of its 65536 values, and nothing else in the frame changes.
 * Usage: test-marks SPEC [LIBRARY]: native code of it, else interpreted
 */
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "pipeline/pipeline.h"
#include "pipeline/registers.h"
#include "start_dpdk.h"

#define LANE 3u
#define FLOW 7u
#define DSCP 0xb8u /* expedited forwarding */
#define ECT_1 1u
#define ECT_0 2u
#define CE 3u
#define IDENTIFICATIONS 65536u

/* What comes out of P4 behind the postcard. */
struct frame {
	struct rte_ether_hdr ether;
	struct rte_ipv4_hdr ip;
	uint8_t rest[FRAME_BYTES_MIN - sizeof(struct rte_ether_hdr) - sizeof(struct rte_ipv4_hdr)];
};
_Static_assert(sizeof(struct frame) == FRAME_BYTES_MIN, "no padding");

static struct frame
make_frame(uint16_t identification, uint8_t ecn)
{
	struct frame frame = {
		.ether.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
		       .type_of_service = DSCP | ecn,
		       .total_length = rte_cpu_to_be_16(FRAME_BYTES_MIN - ETHERNET_BYTES),
		       .packet_id = rte_cpu_to_be_16(identification),
		       .time_to_live = 64,
		       .next_proto_id = 6,
		       .src_addr = rte_cpu_to_be_32(0x0a400001),
		       .dst_addr = rte_cpu_to_be_32(0x0a410001)},
	};

	memset(frame.rest, 0x5a, sizeof(frame.rest));
	frame.ip.hdr_checksum = rte_ipv4_cksum(&frame.ip);
	return frame;
}

static struct rte_mbuf *
make_packet(struct rte_mempool *pool, enum pass pass, uint8_t marks, const struct frame *frame)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *bytes;

	CHECK(mbuf != NULL);
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf,
					      INTRINSIC_BYTES + BRIDGE_BYTES + sizeof(*frame));
	intrinsic_encode(bytes, &(struct intrinsic){
					.pass = (uint8_t)pass,
					.marks = marks,
					.packet_bytes = sizeof(*frame),
					.enqueue_ns = 1000,
					.dequeue_ns = 2000,
				});
	bridge_encode(bytes + INTRINSIC_BYTES, &(struct bridge){.lane = LANE, .flow = FLOW});
	memcpy(bytes + INTRINSIC_BYTES + BRIDGE_BYTES, frame, sizeof(*frame));
	return mbuf;
}

static void
check_slot(const struct pipeline_slot *slot, struct frame expected, uint8_t kind, uint8_t marks)
{
	CHECK(slot->has_postcard);
	CHECK(postcard_kind(slot->postcard) == kind && postcard_marks(slot->postcard) == marks);
	if (kind == POSTCARD_DROPPED)
		return;
	CHECK(slot->port == PIPELINE_EGRESS && slot->mbuf->pkt_len == sizeof(expected));
	CHECK(memcmp(rte_pktmbuf_mtod(slot->mbuf, void *), &expected, sizeof(expected)) == 0);
}

static struct frame
with_ce(struct frame frame)
{
	frame.ip.type_of_service |= CE;
	frame.ip.hdr_checksum = 0;
	frame.ip.hdr_checksum = rte_ipv4_cksum(&frame.ip);
	return frame;
}

static void
run_marked(struct pipeline *p, struct rte_mempool *pool, uint8_t ecn)
{
	struct pipeline_slot *slots = pipeline_slots(p);

	for (uint32_t first = 0; first < IDENTIFICATIONS; first += PIPELINE_BURST) {
		for (uint32_t i = 0; i < PIPELINE_BURST; i++) {
			struct frame frame = make_frame((uint16_t)(first + i), ecn);

			slots[i].mbuf =
				make_packet(pool, PASS_MARKED, MARK_CE | MARK_CAPABLE, &frame);
		}
		pipeline_run(p, PIPELINE_BURST);
		for (uint32_t i = 0; i < PIPELINE_BURST; i++) {
			check_slot(&slots[i], with_ce(make_frame((uint16_t)(first + i), ecn)),
				   POSTCARD_DEPARTED, MARK_CE | MARK_CAPABLE);
			rte_pktmbuf_free(slots[i].mbuf);
		}
	}
}

/* Others go through as they are, and what the traffic manager says of them is in the postcard. */
static void
run_unmarked(struct pipeline *p, struct rte_mempool *pool)
{
	static const struct {
		enum pass pass;
		uint8_t kind;
		uint8_t marks;
	} others[] = {
		{PASS_DEPARTED, POSTCARD_DEPARTED, 0},
		{PASS_DEPARTED, POSTCARD_DEPARTED, MARK_CAPABLE},
		{PASS_DROPPED, POSTCARD_DROPPED, MARK_CAPABLE | 1},
		{PASS_DROPPED, POSTCARD_DROPPED, MARK_REASON},
	};
	struct frame frame = make_frame(1, ECT_0);
	struct pipeline_slot *slots = pipeline_slots(p);

	for (uint32_t i = 0; i < RTE_DIM(others); i++)
		slots[i].mbuf = make_packet(pool, others[i].pass, others[i].marks, &frame);
	pipeline_run(p, RTE_DIM(others));
	for (uint32_t i = 0; i < RTE_DIM(others); i++) {
		check_slot(&slots[i], frame, others[i].kind, others[i].marks);
		rte_pktmbuf_free(slots[i].mbuf);
	}
}

static uint64_t
value_of(struct pipeline *p, enum flow_register which)
{
	struct failure failure = {0};
	uint64_t value = 0;

	CHECK(registers_flow(p, which, FLOW, &value, &failure) == 0);
	return value;
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool = start_dpdk(127);
	struct failure failure = {0};
	struct pipeline *p;

	CHECK(argc == 2 || argc == 3);
	p = pipeline_create(argv[1], argc == 3 ? argv[2] : "", &failure);
	CHECK(p != NULL);
	run_unmarked(p, pool);
	CHECK(value_of(p, FLOW_MARKED_PACKETS) == 0);
	run_marked(p, pool, ECT_1);
	run_marked(p, pool, ECT_0);
	CHECK(value_of(p, FLOW_MARKED_PACKETS) == 2 * IDENTIFICATIONS);
	CHECK(value_of(p, FLOW_MARKED_BYTES) == 2 * IDENTIFICATIONS * sizeof(struct frame));
	CHECK(value_of(p, FLOW_DEPARTED_PACKETS) == 2 * IDENTIFICATIONS + 2);
	pipeline_destroy(p);
	rte_eal_cleanup();
	return 0;
}
