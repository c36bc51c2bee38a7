/* SPDX-License-Identifier: Apache-2.0 */
#include "echo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include "common/nanoseconds.h"
#include "plane/dataplane.h"

/* The names that DPDK 24.11 has, for 22.11 and 23.11 too; 24.11 deprecates the older ones. */
#ifndef RTE_ICMP_TYPE_ECHO_REPLY
#define RTE_ICMP_TYPE_ECHO_REPLY RTE_IP_ICMP_ECHO_REPLY
#define RTE_ICMP_TYPE_ECHO_REQUEST RTE_IP_ICMP_ECHO_REQUEST
#endif

#define INTERVAL_NS ((uint64_t)(500 * MICROSECOND_NS))
/* A lane that has sent nothing for so long is not asked. */
#define QUIET_NS ((uint64_t)SECOND_NS)
/* Questions that may be under way; the number of one is its place here. */
#define QUESTIONS 4096u
#define IDENTIFIER 0x6e62u /* "nb" */
#define TIME_TO_LIVE 64

static const uint8_t magic[] = {'n', 'a', 's', 'h', 'b', 'e', 'd', '\n'};

/* Without padding: DPDK's headers are aligned to two bytes at most. */
struct frame {
	struct rte_ether_hdr ethernet;
	struct rte_ipv4_hdr ip;
	struct rte_icmp_hdr icmp;
	uint8_t magic[8];
};

struct peer {
	uint64_t heard_ns; /* 0: never */
	struct rte_ether_addr mac, from_mac;
	rte_be32_t address, from_address;
};

struct question {
	uint64_t asked_ns; /* 0: answered, or none */
	uint32_t lane;
};

struct echo {
	uint32_t n_lanes;
	uint32_t next_lane;
	uint16_t next_number;
	uint64_t next_ns;
	struct question questions[QUESTIONS];
	struct peer peers[];
};

struct echo *
echo_create(uint32_t n_lanes)
{
	struct echo *e = calloc(1, sizeof(*e) + n_lanes * sizeof(e->peers[0]));

	if (e != NULL)
		e->n_lanes = n_lanes;
	return e;
}

void
echo_destroy(struct echo *e)
{
	free(e);
}

static void
learn(struct echo *e, const struct rte_mbuf *mbuf, uint64_t arrival_ns)
{
	const struct frame *seen = rte_pktmbuf_mtod(mbuf, const struct frame *);
	uint32_t lane, group;

	if (!addresses_group((const uint8_t *)seen, rte_pktmbuf_data_len(mbuf), true, e->n_lanes,
			     &lane, &group))
		return;
	e->peers[lane] = (struct peer){
		.heard_ns = arrival_ns,
		.mac = seen->ethernet.src_addr,
		.from_mac = seen->ethernet.dst_addr,
		.address = seen->ip.src_addr,
		.from_address = seen->ip.dst_addr,
	};
}

static bool
is_answer(const struct rte_mbuf *mbuf)
{
	const struct frame *seen = rte_pktmbuf_mtod(mbuf, const struct frame *);

	return rte_pktmbuf_data_len(mbuf) >= sizeof(*seen) &&
	       seen->ip.next_proto_id == IPPROTO_ICMP &&
	       seen->icmp.icmp_type == RTE_ICMP_TYPE_ECHO_REPLY &&
	       seen->icmp.icmp_ident == rte_cpu_to_be_16(IDENTIFIER) &&
	       memcmp(seen->magic, magic, sizeof(magic)) == 0;
}

static void
take_answer(struct echo *e, struct loop *loop, const struct rte_mbuf *mbuf, uint64_t arrival_ns)
{
	const struct frame *seen = rte_pktmbuf_mtod(mbuf, const struct frame *);
	struct question *q = &e->questions[rte_be_to_cpu_16(seen->icmp.icmp_seq_nb) % QUESTIONS];

	if (q->asked_ns == 0 || q->asked_ns > arrival_ns)
		return;
	disturbance_answered(&loop->hold_ups.lanes[q->lane], arrival_ns, arrival_ns - q->asked_ns);
	q->asked_ns = 0;
}

uint32_t
echo_take(struct echo *e, struct loop *loop, struct rte_mbuf **mbufs, uint64_t *arrivals_ns,
	  uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (is_answer(mbufs[i])) {
			take_answer(e, loop, mbufs[i], arrivals_ns[i]);
			rte_pktmbuf_free(mbufs[i]);
			continue;
		}
		learn(e, mbufs[i], arrivals_ns[i]);
		mbufs[left] = mbufs[i];
		arrivals_ns[left++] = arrivals_ns[i];
	}
	return left;
}

static void
write_question(struct frame *f, const struct peer *peer, uint16_t number)
{
	*f = (struct frame){
		.ethernet = {.dst_addr = peer->mac,
			     .src_addr = peer->from_mac,
			     .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)},
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
		       .total_length = rte_cpu_to_be_16(sizeof(*f) - RTE_ETHER_HDR_LEN),
		       .time_to_live = TIME_TO_LIVE,
		       .next_proto_id = IPPROTO_ICMP,
		       .src_addr = peer->from_address,
		       .dst_addr = peer->address},
		.icmp = {.icmp_type = RTE_ICMP_TYPE_ECHO_REQUEST,
			 .icmp_ident = rte_cpu_to_be_16(IDENTIFIER),
			 .icmp_seq_nb = rte_cpu_to_be_16(number)},
	};
	memcpy(f->magic, magic, sizeof(magic));
	f->ip.hdr_checksum = rte_ipv4_cksum(&f->ip);
	f->icmp.icmp_cksum = (uint16_t)~rte_raw_cksum(&f->icmp, sizeof(f->icmp) + sizeof(f->magic));
}

static void
ask(struct echo *e, struct loop *loop, uint32_t lane, uint64_t now_ns)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(loop->pool);
	uint16_t number = e->next_number++;

	if (mbuf == NULL)
		return;
	write_question((struct frame *)rte_pktmbuf_append(mbuf, sizeof(struct frame)),
		       &e->peers[lane], number);
	e->questions[number % QUESTIONS] = (struct question){.asked_ns = now_ns, .lane = lane};
	dataplane_send(loop, WIRE_SENDERS, mbuf, NO_LANE, now_ns);
}

void
echo_ask(struct echo *e, struct loop *loop, uint64_t now_ns)
{
	if (now_ns < e->next_ns)
		return;
	e->next_ns = now_ns + INTERVAL_NS;
	for (uint32_t i = 0; i < e->n_lanes; i++) {
		uint32_t lane = e->next_lane;
		uint64_t heard_ns = e->peers[lane].heard_ns;

		e->next_lane = lane + 1 == e->n_lanes ? 0 : lane + 1;
		if (heard_ns != 0 && heard_ns + QUIET_NS > now_ns) {
			ask(e, loop, lane, now_ns);
			return;
		}
	}
}
