/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash.h>
#include <rte_jhash.h>
#include <rte_mbuf.h>

#include "common/nanoseconds.h"
#include "path/addresses.h"

#define PROTO_TCP 6
#define PROTO_UDP 17

#define IPV4_BYTES 20u
#define TCP_BYTES 20u
#define UDP_BYTES 8u
#define TOTAL_BYTES_OFFSET (ETHERNET_BYTES + 2u)
#define FRAGMENT_OFFSET (ETHERNET_BYTES + 6u)
#define FRAGMENT_OFFSET_MASK 0x1fffu
#define PROTOCOL_OFFSET (ETHERNET_BYTES + 9u)
#define DATA_OFFSET (IPV4_END_OFFSET + 12u)

static pcap_t *
open_capture(const char *path, struct failure *failure)
{
	char reason[PCAP_ERRBUF_SIZE];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, reason);

	if (pcap == NULL) {
		failure_set(failure, EXIT_STATUS_CONFIG, "%s: not a capture that can be read: %s",
			    path, reason);
		return NULL;
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		failure_set(failure, EXIT_STATUS_CONFIG,
			    "%s: link type %s; only Ethernet captures can be replayed", path,
			    pcap_datalink_val_to_name(pcap_datalink(pcap)));
		pcap_close(pcap);
		return NULL;
	}
	return pcap;
}

static uint64_t
switch_time(struct capture *c, const struct pcap_pkthdr *header)
{
	/* With nanosecond precision tv_usec holds nanoseconds. */
	uint64_t t = (uint64_t)header->ts.tv_sec * SECOND_NS + (uint64_t)header->ts.tv_usec;

	if (c->packets == 0)
		c->first_ns = t;
	if (t < c->first_ns + c->last_ns)
		c->backwards++;
	else
		c->last_ns = t - c->first_ns;
	return c->last_ns;
}

/* Whether a packet can be replayed, as far as it alone shows. */
static int
check_packet(const struct capture *c, const struct capture_packet *packet, struct failure *failure)
{
	if (packet->captured > packet->bytes)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " says that %u bytes of its %u were "
				   "captured",
				   c->path, c->packets, packet->captured, packet->bytes);
	if (packet->bytes > RTE_MBUF_DEFAULT_DATAROOM)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " has %u bytes, more than %u; capture "
				   "with TSO, GSO and GRO off",
				   c->path, c->packets, packet->bytes, RTE_MBUF_DEFAULT_DATAROOM);
	if (packet->now_ns >= CAPTURE_CLOCK_END_NS)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " comes more than 78 hours after the "
				   "first; the switch clock has 48 bits",
				   c->path, c->packets);
	return 0;
}

static int
hand_over(struct capture *c, const struct pcap_pkthdr *header, const uint8_t *frame,
	  capture_handler handle, void *context, struct failure *failure)
{
	struct capture_packet packet = {
		.frame = frame,
		.captured = header->caplen,
		.bytes = header->len,
		.now_ns = switch_time(c, header),
	};

	c->packets++;
	if (check_packet(c, &packet, failure) < 0)
		return -1;
	return handle(context, &packet);
}

int
capture_read(struct capture *c, capture_handler handle, void *context, struct failure *failure)
{
	pcap_t *pcap = open_capture(c->path, failure);
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	int next, result = 0;

	if (pcap == NULL)
		return -1;
	*c = (struct capture){.path = c->path};
	while (result == 0 && (next = pcap_next_ex(pcap, &header, &frame)) == 1)
		result = hand_over(c, header, frame, handle, context, failure);
	if (result == 0 && next != PCAP_ERROR_BREAK)
		result = failure_set(failure, EXIT_STATUS_CONFIG,
				     "%s: damaged after packet %" PRIu64 ": %s", c->path,
				     c->packets, pcap_geterr(pcap));
	pcap_close(pcap);
	return result;
}

/* The key of the hash table: no padding that could differ. */
struct packed_key {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint32_t protocol;
};

struct capture_flows {
	struct rte_hash *hash;
	struct flow_key *keys;
	uint32_t n;
	uint32_t capacity;
};

struct capture_flows *
capture_flows_create(uint32_t capacity)
{
	struct rte_hash_parameters parameters = {
		.name = "capture_flows",
		.entries = capacity,
		.key_len = sizeof(struct packed_key),
		.hash_func = rte_jhash,
	};
	struct capture_flows *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->capacity = capacity;
	f->keys = calloc(capacity, sizeof(*f->keys));
	f->hash = rte_hash_create(&parameters);
	if (f->keys == NULL || f->hash == NULL) {
		capture_flows_destroy(f);
		return NULL;
	}
	return f;
}

void
capture_flows_destroy(struct capture_flows *f)
{
	rte_hash_free(f->hash);
	free(f->keys);
	free(f);
}

bool
capture_flows_key(const uint8_t *frame, uint32_t bytes, struct flow_key *key)
{
	const uint8_t *l4 = frame + IPV4_END_OFFSET;

	if (bytes < IPV4_END_OFFSET + 4 || get_be(frame + 12, 2) != 0x0800 ||
	    frame[ETHERNET_BYTES] != 0x45)
		return false;
	key->protocol = frame[PROTOCOL_OFFSET];
	if (key->protocol != PROTO_TCP && key->protocol != PROTO_UDP)
		return false;
	if (get_be(frame + FRAGMENT_OFFSET, 2) & FRAGMENT_OFFSET_MASK)
		return false;
	key->src = (uint32_t)get_be(frame + IPV4_SRC_OFFSET, 4);
	key->dst = (uint32_t)get_be(frame + IPV4_DST_OFFSET, 4);
	key->sport = (uint16_t)get_be(l4, 2);
	key->dport = (uint16_t)get_be(l4 + 2, 2);
	return true;
}

bool
capture_flows_is_sound(const uint8_t *frame, uint32_t captured, uint32_t bytes)
{
	bool is_tcp = frame[PROTOCOL_OFFSET] == PROTO_TCP;
	uint32_t minimum = is_tcp ? TCP_BYTES : UDP_BYTES;
	uint32_t total = (uint32_t)get_be(frame + TOTAL_BYTES_OFFSET, 2);
	uint32_t l4 = UDP_BYTES;

	if (is_tcp)
		l4 = captured > DATA_OFFSET ? 4u * (frame[DATA_OFFSET] >> 4) : 0;
	return l4 >= minimum && total >= IPV4_BYTES + l4 && bytes >= ETHERNET_BYTES + total;
}

static struct packed_key
pack(const struct flow_key *k, bool reverse)
{
	return (struct packed_key){
		.src = reverse ? k->dst : k->src,
		.dst = reverse ? k->src : k->dst,
		.sport = reverse ? k->dport : k->sport,
		.dport = reverse ? k->sport : k->dport,
		.protocol = k->protocol,
	};
}

static bool
knows(const struct capture_flows *f, const struct flow_key *key, bool reverse)
{
	struct packed_key packed = pack(key, reverse);

	return rte_hash_lookup(f->hash, &packed) >= 0;
}

int
capture_flows_add(struct capture_flows *f, const struct flow_key *key)
{
	struct packed_key packed = pack(key, false);

	if (knows(f, key, false) || knows(f, key, true))
		return 0;
	if (f->n == f->capacity || rte_hash_add_key(f->hash, &packed) < 0)
		return -ENOSPC;
	f->keys[f->n++] = *key;
	return 0;
}

bool
capture_flows_is_reverse(const struct capture_flows *f, const struct flow_key *key)
{
	return !knows(f, key, false) && knows(f, key, true);
}

uint32_t
capture_flows_count(const struct capture_flows *f)
{
	return f->n;
}

const struct flow_key *
capture_flows_at(const struct capture_flows *f, uint32_t flow)
{
	return &f->keys[flow];
}
