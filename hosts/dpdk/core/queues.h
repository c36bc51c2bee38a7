/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Several queues behind one line and out of one memory: a discipline (aqm.h) whose packets say
 * which queue they are for, and which asks one of disciplines, each with a queue to itself, for the
 * next packet. Bytes only; the lane's limit is the memory.
 */
#ifndef NASHBED_QUEUES_H
#define NASHBED_QUEUES_H

#include "lane_config.h"

/* Bytes that a queue of weight 1 may send in its turn. */
#define QUEUES_QUANTUM_BYTES 1514u

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
