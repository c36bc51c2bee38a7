/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Several queues behind one line and out of one memory: a discipline (aqm.h) whose packets say
 * which queue they are for, and which asks one of disciplines, each with a queue to itself, for the
 * next packet. Bytes only; the lane's limit is the memory.
 */
#ifndef NASHBED_QUEUES_H
#define NASHBED_QUEUES_H

#include "memory.h"

/* Bytes that a queue of weight 1 may send in its turn. */
#define QUEUES_QUANTUM_BYTES 1514u
#define QUEUES_WEIGHT_MAX 255u
#define QUEUES_MIN 2u

struct queue_config {
	uint64_t limit_bytes; /* 0: none but the memory's */
	uint32_t weight;      /* of SCHEDULER_DRR; 1 otherwise */
	struct aqm_setup aqm;
};

struct queues_config {
	size_t n;      /* 0: the lane has no queues of its own */
	uint64_t seed; /* of which the others' are made */
	enum scheduler scheduler;
	struct memory_setup memory;
	struct queue_config queues[QUEUES_MAX]; /* in the order of priority */
};

/* Its configuration is a struct queues_config. A packet for a queue that there is not is the last
 * one's.
 */
extern const struct aqm_ops queues_ops;

/* The seed of a queue's discipline; queue QUEUES_MAX: of the policy of the memory. */
uint64_t queues_seed(uint64_t seed, uint32_t queue);

/* What the policy sees of empty queues, which its `check` is given. */
void queues_memory(const struct queues_config *config, const struct aqm_line *line,
		   struct memory *memory);

/* What a queue's discipline sees of an empty line, which its `check` is given. */
void queues_line(const struct queues_config *config, uint32_t queue, const struct aqm_line *line,
		 struct aqm_line *own);

struct description;

/* Scheduler, policy and queues, behind a comma. */
void queues_describe(const struct queues_config *config, struct description *line);

#endif
