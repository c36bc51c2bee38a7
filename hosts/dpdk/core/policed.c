/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A policer in front of any queue: a token bucket in bytes of the wire, full at the beginning. What
 * finds too few tokens is dropped at once (DROP_POLICER); nothing waits for tokens. Packets that
 * arrive as one pass or are dropped as one. Arithmetic is exact: tokens are parts, of which a bit
 * has 10^9, and a nanosecond brings as many as the rate has bit/s.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "discipline.h"
#include "line.h"

struct discipline {
	const struct discipline_ops *ops; /* of the queue behind it */
	struct discipline *queue;	  /* NULL: it was never configured */
	struct policer_config config;
	uint32_t overhead_bytes;
	uint64_t full, tokens; /* in parts */
	uint64_t filled_ns;
	uint64_t dropped_packets;
};

#define PARTS_PER_BYTE (8 * SECOND_NS)

static struct discipline *
policed_create(void)
{
	return calloc(1, sizeof(struct discipline));
}

static void
end_queue(struct discipline *d)
{
	if (d->queue != NULL)
		d->ops->destroy(d->queue);
	d->queue = NULL;
}

static void
policed_destroy(struct discipline *d)
{
	end_queue(d);
	free(d);
}

static void
fill_bucket(struct discipline *d, const struct discipline_config *config)
{
	d->config = config->policer;
	d->overhead_bytes = config->overhead_bytes;
	d->full = d->tokens = config->policer.burst_bytes * PARTS_PER_BYTE;
	d->filled_ns = 0;
}

static int
policed_configure(struct discipline *d, const struct discipline_config *config)
{
	const struct discipline_ops *ops = discipline_ops_of_queue(config);
	struct discipline *queue;
	int error;

	if (config->policer.rate_bps > RATE_BPS_MAX ||
	    config->policer.burst_bytes > POLICER_BURST_MAX || config->policer.burst_bytes == 0)
		return -EINVAL;
	if (d->queue != NULL && d->ops->next_event(d->queue) != UINT64_MAX)
		return -EBUSY;
	queue = ops->create();
	if (queue == NULL)
		return -ENOMEM;
	error = ops->configure(queue, config);
	if (error) {
		ops->destroy(queue);
		return error;
	}
	end_queue(d);
	d->ops = ops;
	d->queue = queue;
	fill_bucket(d, config);
	return 0;
}

static void
refill(struct discipline *d, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - d->filled_ns;
	uint64_t missing = d->full - d->tokens;

	d->filled_ns = now_ns;
	if (passed_ns > missing / d->config.rate_bps)
		d->tokens = d->full;
	else
		d->tokens += passed_ns * d->config.rate_bps;
}

static bool
conforms(struct discipline *d, const struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	uint64_t bytes = 0;

	refill(d, now_ns);
	for (uint32_t i = 0; i < n; i++)
		bytes += (uint64_t)packets[i].bytes + d->overhead_bytes;
	if (bytes > d->tokens / PARTS_PER_BYTE)
		return false;
	d->tokens -= bytes * PARTS_PER_BYTE;
	return true;
}

static bool
refuse(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	struct discipline_stats stats;

	d->ops->stats(d->queue, &stats);
	for (uint32_t i = 0; i < n; i++) {
		packets[i].enqueue_ns = packets[i].dequeue_ns = now_ns;
		packets[i].queue_bytes = (uint32_t)stats.queue_bytes;
		packets[i].dropped = true;
		packets[i].mark = false;
		packets[i].reason = DROP_POLICER;
	}
	d->dropped_packets += n;
	return false;
}

static bool
policed_enqueue(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	if (!conforms(d, packets, n, now_ns))
		return refuse(d, packets, n, now_ns);
	return d->ops->enqueue(d->queue, packets, n, now_ns);
}

static bool
policed_dequeue(struct discipline *d, struct queue_packet *packet, uint64_t now_ns)
{
	return d->ops->dequeue(d->queue, packet, now_ns);
}

static uint64_t
policed_next_event(const struct discipline *d)
{
	return d->ops->next_event(d->queue);
}

static bool
policed_discard(struct discipline *d, struct queue_packet *packet)
{
	return d->ops->discard(d->queue, packet);
}

static int
policed_describe(const struct discipline *d, char *text, size_t text_bytes)
{
	int used =
		snprintf(text, text_bytes, "policer %" PRIu64 " bit/s, burst %" PRIu64 " bytes; ",
			 d->config.rate_bps, d->config.burst_bytes);

	return used + d->ops->describe(d->queue, text + used, text_bytes - (size_t)used);
}

static void
policed_stats(const struct discipline *d, struct discipline_stats *stats)
{
	d->ops->stats(d->queue, stats);
	stats->dropped_packets += d->dropped_packets;
}

static void
policed_reset_stats(struct discipline *d)
{
	d->ops->reset_stats(d->queue);
	d->dropped_packets = 0;
}

static void
policed_begin(struct discipline *d, uint64_t t0_ns)
{
	if (d->ops->begin != NULL)
		d->ops->begin(d->queue, t0_ns);
}

const struct discipline_ops policed_ops = {
	.name = "policed",
	.drops_taken = true,
	.create = policed_create,
	.destroy = policed_destroy,
	.configure = policed_configure,
	.enqueue = policed_enqueue,
	.dequeue = policed_dequeue,
	.next_event = policed_next_event,
	.discard = policed_discard,
	.describe = policed_describe,
	.stats = policed_stats,
	.reset_stats = policed_reset_stats,
	.begin = policed_begin,
};
