/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a flow of the configuration by its source address and port. */
#ifndef FLOWS_FLOW_INDEX_H
#define FLOWS_FLOW_INDEX_H

#include <stdbool.h>

#include "config.h"

struct flow_index_entry {
	uint64_t key;
	size_t position; /* in config->flows */
};

struct flow_index {
	struct flow_index_entry *entries; /* sorted by key, then by position */
	size_t count;
};

#define FLOW_INDEX_NONE SIZE_MAX

uint64_t flow_key_address(const struct sockaddr_in *address);

int flow_index_build(struct flow_index *index, const struct config *config,
		     struct failure *failure);
void flow_index_free(struct flow_index *index);

/* The position of the flow with this key, or FLOW_INDEX_NONE. */
size_t flow_index_find(const struct flow_index *index, uint64_t key);

#endif
