/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses change nothing but when frames really leave: the same frames pass twice, once with each
 * event at its time, once with a loop that comes by only now and then, often later than the delay each
 * way. Every postcard must be the same, and every acknowledgement due at the same time.
 * Usage: test-pauses SPEC
 */
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "common/nanoseconds.h"
#include "core/prng.h"
#include "path/bottleneck.h"
#include "path/hold_ups.h"
#include "pipeline/registers.h"
#include "start_dpdk.h"

#define FRAME_BYTES FRAME_BYTES_MAX
#define FRAMES 400u
#define ROOM 10u
#define RATE_BPS 12000000u /* a frame takes a millisecond */
#define DELAY_NS ((uint64_t)(10 * MILLISECOND_NS))
#define GAP_NS ((uint64_t)(19 * MILLISECOND_NS / 10)) /* at most, so that the link is overloaded */
#define RESPONSE_NS ((uint64_t)(200 * MICROSECOND_NS))
#define SENDER_PORT 10000u
#define LANE 0u
#define PACKETS 1023u

struct headers {
	struct rte_ether_hdr ethernet;
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
};

#define PAYLOAD (FRAME_BYTES - sizeof(struct headers))

/* What one pass showed, times after its beginning. */
struct passage {
	struct postcard postcards[FRAMES];
	uint32_t n_postcards;
	uint64_t acks_due_ns[FRAMES];
	uint32_t n_acks;
	uint64_t latest_ns; /* departure */
};

struct answer {
	uint64_t at_ns;
	uint32_t number;
};

struct rig {
	struct rte_mempool *pool;
	struct pipeline *pipeline;
	struct bottleneck bottleneck;
	struct hold_ups hold_ups;
	uint64_t begin_ns;
	uint64_t now_ns;
	struct answer answers[FRAMES]; /* of the receiver, on their way */
	uint32_t n_answers;
	uint32_t n_answered;
	struct passage *pass;
};

static void
leave_to_receiver(struct rig *rig, struct rte_mbuf *mbuf, uint32_t lane, uint64_t departure_ns)
{
	struct frame_note note = hold_ups_note(&rig->hold_ups, mbuf, false, lane, departure_ns);

	hold_ups_sent(&rig->hold_ups, &note, false, rig->now_ns);
	rig->pass->latest_ns = RTE_MAX(rig->pass->latest_ns, rig->now_ns - departure_ns);
	rig->answers[rig->n_answers++] = (struct answer){
		.at_ns = rig->now_ns + RESPONSE_NS,
		.number = note.data.end,
	};
}

static void
take_frame(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
	   uint64_t departure_ns)
{
	struct rig *rig = context;

	CHECK(lane == LANE);
	if (wire == PIPELINE_RECEIVERS)
		leave_to_receiver(rig, mbuf, lane, departure_ns);
	else
		rig->pass->acks_due_ns[rig->pass->n_acks++] = departure_ns - rig->begin_ns;
	rte_pktmbuf_free(mbuf);
}

static void
take_postcard(void *context, uint32_t lane, const uint8_t *bytes)
{
	struct rig *rig = context;
	struct postcard *p = &rig->pass->postcards[rig->pass->n_postcards++];

	CHECK(lane == LANE);
	postcard_decode(bytes, p);
	p->enqueue_ns -= rig->begin_ns;
	p->dequeue_ns -= rig->begin_ns;
	p->lane_seq = 0;
}

static void
open_rig(struct rig *rig, const char *spec)
{
	struct bottleneck_sink sink = {take_frame, take_postcard, rig};
	struct failure failure = {0};

	rig->pool = start_dpdk(PACKETS);
	rig->pipeline = pipeline_create(spec, "", &failure);
	CHECK(rig->pipeline != NULL);
	CHECK(hold_ups_init(&rig->hold_ups, 1, true, 0) == 0);
	CHECK(bottleneck_init(&rig->bottleneck, rig->pipeline, 1, PIPELINE_BURST, &rig->hold_ups,
			      &sink) == 0);
}

static void
program(struct rig *rig)
{
	struct lane_config config = {.rate_bps = RATE_BPS, .limit.value = ROOM * FRAME_BYTES};
	struct group_delay delay = {.forward_ns = DELAY_NS, .reverse_ns = DELAY_NS};

	CHECK(traffic_manager_configure(&rig->bottleneck.tm, LANE, &config) == 0);
	CHECK(delays_configure(&rig->bottleneck.delays, LANE, 0, &delay) == 0);
}

static void
program_flow(struct rig *rig)
{
	struct flow_key key = {
		.src = SENDERS_NETWORK + 1,
		.dst = RECEIVERS_NETWORK + 1,
		.sport = SENDER_PORT,
		.dport = SINK_PORT,
		.protocol = IPPROTO_TCP,
	};

	CHECK(registers_flow_add(rig->pipeline, &key,
				 &(struct flow_action){.lane = LANE, .flow = 0}) == 0);
	CHECK(pipeline_commit(rig->pipeline) == 0);
}

static struct rte_mbuf *
make_frame(struct rig *rig, bool outbound, uint32_t number)
{
	rte_be32_t sender = rte_cpu_to_be_32(SENDERS_NETWORK + 1);
	rte_be32_t receiver = rte_cpu_to_be_32(RECEIVERS_NETWORK + 1);
	uint16_t bytes = outbound ? FRAME_BYTES : sizeof(struct headers);
	struct headers h = {
		.ethernet = {.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)},
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
		       .total_length = rte_cpu_to_be_16((uint16_t)(bytes - RTE_ETHER_HDR_LEN)),
		       .next_proto_id = IPPROTO_TCP,
		       .src_addr = outbound ? sender : receiver,
		       .dst_addr = outbound ? receiver : sender},
		.tcp = {.src_port = rte_cpu_to_be_16(outbound ? SENDER_PORT : SINK_PORT),
			.dst_port = rte_cpu_to_be_16(outbound ? SINK_PORT : SENDER_PORT),
			.sent_seq = rte_cpu_to_be_32(outbound ? number : 1),
			.recv_ack = rte_cpu_to_be_32(outbound ? 1 : number),
			.data_off = 5 << 4,
			.tcp_flags = RTE_TCP_ACK_FLAG},
	};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rig->pool);

	CHECK(mbuf != NULL);
	memcpy(rte_pktmbuf_append(mbuf, bytes), &h, sizeof(h));
	return mbuf;
}

static void
receive(struct rig *rig, enum pipeline_port wire, uint32_t number, uint64_t arrival_ns)
{
	struct rte_mbuf *mbuf = make_frame(rig, wire == PIPELINE_SENDERS, number);

	bottleneck_receive(&rig->bottleneck, wire, &mbuf, &arrival_ns, 1);
}

/* One round of a loop: what has arrived by now, and what is due. */
static void
come_by(struct rig *rig, const uint64_t *sent_ns, uint32_t *n_received, uint64_t now_ns)
{
	rig->now_ns = now_ns;
	for (; *n_received < FRAMES && sent_ns[*n_received] <= now_ns; (*n_received)++)
		receive(rig, PIPELINE_SENDERS, 1 + *n_received * PAYLOAD, sent_ns[*n_received]);
	while (rig->n_answered < rig->n_answers && rig->answers[rig->n_answered].at_ns <= now_ns) {
		const struct answer *answer = &rig->answers[rig->n_answered++];

		receive(rig, PIPELINE_RECEIVERS, answer->number, answer->at_ns);
	}
	bottleneck_advance(&rig->bottleneck, now_ns);
}

/* When something happens next, whoever looks. */
static uint64_t
next_ns(const struct rig *rig, const uint64_t *sent_ns, uint32_t n_received)
{
	uint64_t next = bottleneck_next_event(&rig->bottleneck);

	if (n_received < FRAMES)
		next = RTE_MIN(next, sent_ns[n_received]);
	if (rig->n_answered < rig->n_answers)
		next = RTE_MIN(next, rig->answers[rig->n_answered].at_ns);
	return next;
}

/* All frames through; the loop comes by at every event, or up to longest_ns later. */
static void
run(struct rig *rig, struct passage *pass, uint64_t begin_ns, uint64_t longest_ns)
{
	uint64_t state = 1, pauses = 2, at_ns = begin_ns, event_ns;
	uint64_t sent_ns[FRAMES];
	uint32_t n_received = 0;

	rig->begin_ns = begin_ns;
	rig->pass = pass;
	rig->n_answers = rig->n_answered = 0;
	for (uint32_t i = 0; i < FRAMES; i++)
		sent_ns[i] = at_ns += prng_next(&state) % GAP_NS;
	while ((event_ns = next_ns(rig, sent_ns, n_received)) != EVENT_NEVER)
		come_by(rig, sent_ns, &n_received,
			RTE_MAX(event_ns, rig->now_ns) +
				(longest_ns ? prng_next(&pauses) % longest_ns : 0));
	bottleneck_reset_lane(&rig->bottleneck, LANE);
}

static void
check_same(const struct passage *on_time, const struct passage *late)
{
	CHECK(on_time->n_postcards == FRAMES && late->n_postcards == FRAMES);
	CHECK(on_time->n_acks > FRAMES / 2 && on_time->n_acks < FRAMES);
	CHECK(on_time->n_acks == late->n_acks);
	CHECK(memcmp(on_time->postcards, late->postcards, sizeof(late->postcards)) == 0);
	CHECK(memcmp(on_time->acks_due_ns, late->acks_due_ns, sizeof(late->acks_due_ns)) == 0);
	CHECK(on_time->latest_ns == 0 && late->latest_ns > 2 * DELAY_NS);
}

int
main(int argc, char **argv)
{
	static struct rig rig;
	static struct passage on_time, late;
	uint64_t second_ns = SECOND_NS;

	CHECK(argc == 2);
	open_rig(&rig, argv[1]);
	program_flow(&rig);
	program(&rig);
	run(&rig, &on_time, second_ns, 0);
	program(&rig);
	run(&rig, &late, 10 * second_ns, 3 * DELAY_NS);
	check_same(&on_time, &late);
	CHECK(rte_mempool_in_use_count(rig.pool) == 0);
	bottleneck_free(&rig.bottleneck);
	hold_ups_free(&rig.hold_ups);
	pipeline_destroy(rig.pipeline);
	rte_eal_cleanup();
	return 0;
}
