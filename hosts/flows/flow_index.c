/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "flow_index.h"

uint64_t
flow_key_address(const struct sockaddr_in *address)
{
	return (uint64_t)ntohl(address->sin_addr.s_addr) << 16 | ntohs(address->sin_port);
}

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int
compare_entries(const void *left, const void *right)
{
	const struct flow_index_entry *a = left;
	const struct flow_index_entry *b = right;
	int by_key = compare_numbers(a->key, b->key);

	return by_key != 0 ? by_key : compare_numbers(a->position, b->position);
}

static int
compare_key(const void *key, const void *entry)
{
	return compare_numbers(*(const uint64_t *)key,
			       ((const struct flow_index_entry *)entry)->key);
}

int
flow_index_build(struct flow_index *index, const struct config *config, struct failure *failure)
{
	index->count = config->n_flows;
	index->entries = calloc(index->count, sizeof(*index->entries));
	if (index->entries == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");

	for (size_t i = 0; i < index->count; i++)
		index->entries[i] =
			(struct flow_index_entry){flow_key_address(&config->flows[i].source), i};
	qsort(index->entries, index->count, sizeof(*index->entries), compare_entries);
	return 0;
}

void
flow_index_free(struct flow_index *index)
{
	free(index->entries);
	index->entries = NULL;
	index->count = 0;
}

size_t
flow_index_find(const struct flow_index *index, uint64_t key)
{
	const struct flow_index_entry *entry =
		bsearch(&key, index->entries, index->count, sizeof(*index->entries), compare_key);

	return entry == NULL ? FLOW_INDEX_NONE : entry->position;
}
