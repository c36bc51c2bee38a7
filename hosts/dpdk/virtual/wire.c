/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A wire in virtual time: frames wait until the caller takes them, and nothing else can fail. */
#include "io/wire.h"

#include <stdio.h>

#include <rte_common.h>

void
wire_eal_argument(const struct wire_config *config, enum wire_id id, char *text, size_t text_bytes)
{
	(void)config;
	(void)id;
	snprintf(text, text_bytes, "%s", "");
}

int
wire_open(struct wire *wire, const struct wire_config *config, enum wire_id id,
	  struct rte_mempool *pool, struct failure *failure)
{
	(void)pool;
	*wire = (struct wire){.id = id, .driver = config->driver};
	if (config->driver == DRIVER_VIRTUAL)
		return 0;
	return failure_set(failure, EXIT_STATUS_CONFIG,
			   "ports.%s.driver must be virtual inside a guest, not %s", wire_names[id],
			   driver_names[config->driver]);
}

void
wire_close(struct wire *wire)
{
	while (wire->n_taken < wire->n_pending)
		rte_pktmbuf_free(wire->pending[wire->n_taken++]);
	wire->n_taken = wire->n_pending = 0;
}

void
wire_push(struct wire *wire, struct rte_mbuf *mbuf, struct frame_note note)
{
	(void)note;
	if (wire->n_taken == wire->n_pending)
		wire->n_taken = wire->n_pending = 0;
	if (wire->n_pending == WIRE_PENDING) {
		wire->tx_backlog_drops++;
		rte_pktmbuf_free(mbuf);
		return;
	}
	wire->count.tx_packets++;
	wire->count.tx_bytes += mbuf->pkt_len;
	wire->pending[wire->n_pending++] = mbuf;
}

int
wire_stats_get(const struct wire *wire, struct wire_stats *stats)
{
	*stats = wire->count;
	stats->tx_dropped = wire->tx_backlog_drops;
	return 0;
}
