/* SPDX-License-Identifier: Apache-2.0 */
/* DPDK without huge pages, ports or root, as the C tests need it. */
#ifndef TEST_START_DPDK_H
#define TEST_START_DPDK_H

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "common/check.h"

/* A pool of so many packets. */
static inline struct rte_mempool *
start_dpdk(unsigned int packets)
{
	char *arguments[] = {"test",	       "--no-huge",	 "--no-pci",
			     "--no-shconf",    "--no-telemetry", "-m64",
			     "--iova-mode=va", "--log-level=3",	 NULL};
	struct rte_mempool *pool;

	CHECK(rte_eal_init(8, arguments) >= 0);
	pool = rte_pktmbuf_pool_create("packets", packets, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	CHECK(pool != NULL);
	return pool;
}

#endif
