/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The policies of shared memory, and what is the same for a user's own. */
#ifndef NASHBED_POLICIES_H
#define NASHBED_POLICIES_H

#include "memory.h"

extern const struct memory_ops complete_sharing_ops, complete_partitioning_ops, static_ops,
	dynamic_threshold_ops;

/* Of static_ops, whose parameters are a list. */
struct static_config {
	uint64_t limits_bytes[QUEUES_MAX];
};

/* Ended by NULL. */
extern const struct memory_ops *const memory_policies[];

/* NULL where there is none of the name. */
const struct memory_ops *memory_find(const char *name);

#endif
