"""A policy of the memory that a user might write."""

OWN_POLICY = """\
#include "memory.h"

struct config {
	uint64_t least;
};

static const struct aqm_param params[] = {
	{"least", AQM_BYTES, offsetof(struct config, least), 3000, 1514, 1e6, "what each may have"},
	{.name = NULL},
};

static uint64_t
half_or_least(void *state, const void *config, const struct memory *m, uint32_t queue, uint64_t now)
{
	const struct config *own = config;
	uint64_t half = m->total_bytes / 2;

	(void)state;
	(void)queue;
	(void)now;
	return half > own->least ? half : own->least;
}

static const struct memory_ops ops = {
	.abi = MEMORY_ABI,
	.name = "half",
	.help = "half of the memory",
	.params = params,
	.config_bytes = sizeof(struct config),
	.threshold = half_or_least,
};

MEMORY_EXPORT(ops);
"""
