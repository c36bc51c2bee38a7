/* SPDX-License-Identifier: Apache-2.0 */
#include "flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash.h>
#include <rte_jhash.h>

struct capture_flows {
	struct rte_hash *hash;
	struct flow_tuple *tuples; /* by their numbers */
	uint32_t n;
	uint32_t capacity;
};

struct capture_flows *
capture_flows_create(uint32_t capacity)
{
	struct rte_hash_parameters parameters = {
		.name = "capture_flows",
		.entries = capacity,
		.key_len = sizeof(struct flow_tuple),
		.hash_func = rte_jhash,
	};
	struct capture_flows *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->capacity = capacity;
	f->tuples = calloc(capacity, sizeof(*f->tuples));
	f->hash = rte_hash_create(&parameters);
	if (f->tuples == NULL || f->hash == NULL) {
		capture_flows_destroy(f);
		return NULL;
	}
	return f;
}

void
capture_flows_destroy(struct capture_flows *f)
{
	rte_hash_free(f->hash);
	free(f->tuples);
	free(f);
}

static struct flow_tuple
turned_round(const struct flow_tuple *t)
{
	struct flow_tuple turned = *t;

	memcpy(turned.src, t->dst, sizeof(turned.src));
	memcpy(turned.dst, t->src, sizeof(turned.dst));
	turned.sport = t->dport;
	turned.dport = t->sport;
	return turned;
}

int
capture_flows_find(const struct capture_flows *f, const struct flow_tuple *tuple, bool reverse)
{
	struct flow_tuple sought = reverse ? turned_round(tuple) : *tuple;
	void *number;

	return rte_hash_lookup_data(f->hash, &sought, &number) < 0 ? -ENOENT :
								     (int)(uintptr_t)number;
}

int
capture_flows_add(struct capture_flows *f, const struct flow_tuple *tuple)
{
	if (capture_flows_find(f, tuple, false) >= 0 || capture_flows_find(f, tuple, true) >= 0)
		return 0;
	if (f->n == f->capacity ||
	    rte_hash_add_key_data(f->hash, tuple, (void *)(uintptr_t)f->n) < 0)
		return -ENOSPC;
	f->tuples[f->n++] = *tuple;
	return 0;
}

uint32_t
capture_flows_count(const struct capture_flows *f)
{
	return f->n;
}

const struct flow_tuple *
capture_flows_at(const struct capture_flows *f, uint32_t flow)
{
	return &f->tuples[flow];
}
