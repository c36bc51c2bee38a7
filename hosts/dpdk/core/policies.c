/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The policies of shared memory: who of several queues may have how much of it. */
#include "policies.h"

#include <string.h>

#include "core/parameters.h"

static const struct aqm_param no_params[] = {{.name = NULL}};

static uint64_t
share_completely(void *state, const void *config, const struct memory *memory, uint32_t queue,
		 uint64_t now_ns)
{
	return MEMORY_ALL;
}

const struct memory_ops complete_sharing_ops = {
	.abi = MEMORY_ABI,
	.name = "complete_sharing",
	.help = "whoever comes while there is room (Kamoun and Kleinrock 1980)",
	.params = no_params,
	.threshold = share_completely,
};

static uint64_t
partition(void *state, const void *config, const struct memory *memory, uint32_t queue,
	  uint64_t now_ns)
{
	return memory->total_bytes / memory->n_queues;
}

const struct memory_ops complete_partitioning_ops = {
	.abi = MEMORY_ABI,
	.name = "complete_partitioning",
	.help = "an equal part for each queue (Kamoun and Kleinrock 1980)",
	.params = no_params,
	.threshold = partition,
};

static uint64_t
keep_limits(void *state, const void *config, const struct memory *memory, uint32_t queue,
	    uint64_t now_ns)
{
	const struct static_config *given = config;

	return given->limits_bytes[queue];
}

const struct memory_ops static_ops = {
	.abi = MEMORY_ABI,
	.name = "static",
	.help = "a limit for each queue; together they may be more than the memory (SMXQ)",
	.params = no_params,
	.config_bytes = sizeof(struct static_config),
	.threshold = keep_limits,
};

static uint64_t
follow_free(void *state, const void *config, const struct memory *memory, uint32_t queue,
	    uint64_t now_ns)
{
	const struct dynamic_threshold_config *given = config;

	return (uint64_t)(given->alpha * (double)(memory->total_bytes - memory->used_bytes));
}

const struct memory_ops dynamic_threshold_ops = {
	.abi = MEMORY_ABI,
	.name = "dynamic_threshold",
	.help = "alpha times what is free, the same for each queue (Choudhury and Hahne 1998)",
	.params = dynamic_threshold_params,
	.config_bytes = sizeof(struct dynamic_threshold_config),
	.threshold = follow_free,
};

const struct memory_ops *const memory_policies[] = {
	&complete_sharing_ops,
	&complete_partitioning_ops,
	&static_ops,
	&dynamic_threshold_ops,
	NULL,
};

const struct memory_ops *
memory_find(const char *name)
{
	for (uint32_t i = 0; memory_policies[i] != NULL; i++)
		if (strcmp(memory_policies[i]->name, name) == 0)
			return memory_policies[i];
	return NULL;
}
