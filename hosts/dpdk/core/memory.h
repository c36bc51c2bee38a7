/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The interface of a policy of shared memory: who of several queues may have how much of it. This
 * is all that one C file of a user's own includes. The same rules hold as for a discipline
 * (aqm.h): no clock but `now_ns`, no draw but from the seed.
 *
 * At each arrival the policy is asked for the threshold of the packet's queue; a packet with which
 * its queue would exceed it is dropped (DROP_THRESHOLD). Memory that is full and a queue's own
 * limit are not the policy's business: queues.c keeps them.
 */
#ifndef NASHBED_MEMORY_H
#define NASHBED_MEMORY_H

#include "aqm.h"

#define MEMORY_ABI 1
#define QUEUES_MAX 8u

/* No threshold: the memory is the queue's only bound. */
#define MEMORY_ALL UINT64_MAX

/* Who is served next. */
enum scheduler {
	SCHEDULER_DRR,		   /* deficit round robin, by weights */
	SCHEDULER_STRICT_PRIORITY, /* the first that has a packet */
};

/* A queue, as a policy sees it. */
struct memory_queue {
	uint64_t bytes;	      /* of the memory, as the limit counts, without what arrives */
	uint64_t sent_bytes;  /* of frames that it has begun to send, since the beginning */
	uint64_t limit_bytes; /* its own limit; 0: none */
	uint32_t weight;      /* 1 with strict priority */
	bool is_backlogged;   /* packets wait in it, besides what is being sent */
};

/* All of it; queues are in the order of their priority. */
struct memory {
	uint64_t total_bytes;
	uint64_t used_bytes; /* the sum over the queues */
	uint64_t rate_bps;   /* of the line that they share */
	enum scheduler scheduler;
	uint32_t n_queues;
	struct memory_queue queues[QUEUES_MAX];
};

struct memory_ops {
	uint32_t abi; /* MEMORY_ABI */
	const char *name;
	const char *help;		/* one line: what it is, and its source */
	const struct aqm_param *params; /* as a discipline's */
	size_t config_bytes;
	size_t state_bytes; /* 0: it remembers nothing, and its state is NULL */
	/* Compute what was left out of a configuration. NULL, or a line for people about what is
	 * wrong with it. May be NULL.
	 */
	const char *(*check)(void *config, const struct memory *memory);
	/* A new state, all zeroes until then, where it has one. Draws come from the seed. 0 or
	 * -ENOMEM. May be NULL.
	 */
	int (*init)(void *state, const void *config, const struct memory *memory, uint64_t seed);
	/* Give back what the state holds. May be NULL. */
	void (*fini)(void *state);
	/* How many bytes the queue may have now, as the limit counts them. */
	uint64_t (*threshold)(void *state, const void *config, const struct memory *memory,
			      uint32_t queue, uint64_t now_ns);
};

/* A policy with its parameters, and the seed of its draws. */
struct memory_setup {
	const struct memory_ops *ops; /* NULL: complete sharing */
	uint64_t seed;
	alignas(max_align_t) uint8_t config[AQM_CONFIG_BYTES]; /* with `check` done */
};

/* What a file with a policy of one's own ends with. */
#define MEMORY_EXPORT(ops)                                                                         \
	__attribute__((visibility("default"))) const struct memory_ops *nashbed_memory(void)       \
	{                                                                                          \
		return &(ops);                                                                     \
	}                                                                                          \
	const struct memory_ops *nashbed_memory(void)

#endif
