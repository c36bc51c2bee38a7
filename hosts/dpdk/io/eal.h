/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef NASHBED_EAL_H
#define NASHBED_EAL_H

#include "common/failure.h"
#include "config/config.h"

/* Start DPDK for this configuration; in virtual time without ports and without root. */
int eal_start(const struct config *config, struct failure *failure);

/* A loop's packet buffers: its part of those in queues, and those in its ports' rings and bursts. NULL
 * with the failure set.
 */
struct rte_mempool *eal_packet_pool(const struct config *config, uint32_t loop,
				    struct failure *failure);

#endif
