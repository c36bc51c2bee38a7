/* SPDX-License-Identifier: Apache-2.0 */
#include "capture_flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash.h>
#include <rte_jhash.h>

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
