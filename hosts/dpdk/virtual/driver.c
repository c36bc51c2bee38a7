/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct virtual_driver *
driver_of(const struct dataplane *dp)
{
	return (struct virtual_driver *)((char *)(uintptr_t)dp -
					 offsetof(struct virtual_driver, dp));
}

/* Exact rather than fast: packets hardly ever come at the same nanosecond. */
const uint32_t dataplane_ingress_burst = 1;
/* A sender's TSO packet becomes frames at one instant. */
const uint64_t dataplane_train_instant_ns = 0;

uint64_t
dataplane_epoch_ns(void)
{
	return 0;
}

uint64_t
dataplane_now_ns(const struct dataplane *dp)
{
	return driver_of(dp)->now_ns;
}

void
dataplane_send(struct loop *loop, enum wire_id id, struct rte_mbuf *mbuf, uint32_t lane,
	       uint64_t departure_ns)
{
	uint64_t now_ns = driver_of(loop->dp)->now_ns;
	bool to_senders = id == WIRE_SENDERS;
	struct frame_note note =
		hold_ups_note(&loop->hold_ups, mbuf, to_senders, lane, departure_ns);

	if (lane != NO_LANE) {
		hold_ups_sent(&loop->hold_ups, &note, to_senders, now_ns);
		if (!to_senders)
			lateness_add(&loop->dp->lanes[lane].lateness, now_ns - departure_ns);
	}
	wire_push(&loop->wires[id], mbuf, note);
}

/* Without threads a request to the data thread is a call. */
void
mailbox_wake(const struct mailbox *box)
{
}

int
mailbox_call(struct mailbox *box, mailbox_request_t run, void *argument)
{
	struct loop *loop = (struct loop *)((char *)box - offsetof(struct loop, mailbox));

	return run(loop, argument);
}

/* A wire in virtual time: frames wait until the caller takes them, and nothing else can fail. */
void
wire_eal_argument(const struct wire_config *config, enum wire_id id, uint32_t loop, char *text,
		  size_t text_bytes)
{
	snprintf(text, text_bytes, "%s", "");
}

int
wire_open(struct wire *wire, const struct wire_config *config, enum wire_id id, uint32_t loop,
	  struct rte_mempool *pool, struct failure *failure)
{
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

static int
open_progress(struct virtual_driver *v, struct failure *failure)
{
	const char *path = v->dp.config.progress;
	void *map = MAP_FAILED;
	int fd;

	if (path[0] == '\0')
		return 0;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof(*v->progress)) == 0)
		map = mmap(NULL, sizeof(*v->progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		failure_set(failure, EXIT_STATUS_HOST, "progress %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return -1;
	v->progress = map;
	return 0;
}

int
virtual_driver_open(struct virtual_driver *v, struct failure *failure)
{
	if (open_progress(v, failure) < 0 || dataplane_make_loops(&v->dp, failure) < 0 ||
	    dataplane_open(&v->dp, failure) < 0)
		return -1;
	return 0;
}

void
virtual_driver_close(struct virtual_driver *v)
{
	dataplane_close(&v->dp);
	free(v->dp.loops);
	if (v->progress != NULL)
		munmap(v->progress, sizeof(*v->progress));
	v->progress = NULL;
}

static void
set_now(struct virtual_driver *v, uint64_t now_ns)
{
	v->now_ns = now_ns;
	if (v->progress != NULL)
		*(volatile uint64_t *)v->progress = now_ns;
}

/* Whose queue a wire puts a frame into. */
static struct loop *
loop_of_frame(const struct virtual_driver *v, enum wire_id id, const struct rte_mbuf *mbuf)
{
	const struct dataplane *dp = &v->dp;
	uint32_t lane, group;

	if (dp->config.n_loops > 1 &&
	    addresses_group(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->pkt_len,
			    id == WIRE_SENDERS, dp->config.lanes, &lane, &group))
		return dataplane_loop(dp, lane);
	return &dp->loops[0];
}

void
virtual_driver_receive(struct virtual_driver *v, enum wire_id id, struct rte_mbuf *mbuf,
		       uint64_t now_ns)
{
	struct loop *loop = loop_of_frame(v, id, mbuf);
	struct wire_stats *count = &loop->wires[id].count;

	count->rx_packets++;
	count->rx_bytes += mbuf->pkt_len;
	set_now(v, now_ns);
	v->dp.role->receive(loop, id, &mbuf, &now_ns, 1);
}

void
virtual_driver_advance(struct virtual_driver *v, uint64_t now_ns)
{
	set_now(v, now_ns);
	for (uint32_t i = 0; i < v->dp.config.n_loops; i++) {
		v->dp.loops[i].stats.iterations++;
		v->dp.role->advance(&v->dp.loops[i], now_ns);
	}
}

uint64_t
virtual_driver_next_event(const struct virtual_driver *v)
{
	uint64_t next_ns = EVENT_NEVER;

	for (uint32_t i = 0; i < v->dp.config.n_loops; i++)
		next_ns = RTE_MIN(next_ns, v->dp.role->next_event(&v->dp.loops[i]));
	return next_ns;
}

static struct rte_mbuf *
take_from(struct loop *loop, enum wire_id *id)
{
	for (int i = 0; i < N_WIRES; i++) {
		struct wire *wire = &loop->wires[i];

		if (wire->n_pending == wire->n_taken)
			continue;
		*id = (enum wire_id)i;
		return wire->pending[wire->n_taken++];
	}
	return NULL;
}

struct rte_mbuf *
virtual_driver_take(struct virtual_driver *v, enum wire_id *id)
{
	struct rte_mbuf *mbuf = NULL;

	for (uint32_t i = 0; mbuf == NULL && i < v->dp.config.n_loops; i++)
		mbuf = take_from(&v->dp.loops[i], id);
	return mbuf;
}
