/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Drop-tail: what does not fit is dropped, the others are served in the order of
 * their arrival. Packets that arrive as one fit together or not at all.
 *
 * Behind a line that changes it is another table of operations, so that a line which does not
 * change asks for no schedule at any packet. A limit that shrinks drops nothing that waits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "discipline.h"
#include "event_heap.h"
#include "fifo.h"
#include "line.h"

struct waiting {
	struct queue_packet packet;
	uint64_t frees; /* of the limit: when it has left, or (COUNTS_QUEUE) when it begins to */
};

/* The first of the queue is being sent: the link is never idle with a queue. */
struct discipline {
	struct discipline_config config;
	struct line_schedule *schedule; /* NULL: the line does not change */
	struct fifo queue;		/* of struct waiting */
	struct exact_time last_departure;
	uint64_t used; /* of the limit, in its unit */
	struct discipline_stats stats;
};

static struct discipline *
droptail_create(void)
{
	struct discipline *d = calloc(1, sizeof(*d));

	if (d != NULL)
		fifo_init(&d->queue, sizeof(struct waiting));
	return d;
}

static void
droptail_destroy(struct discipline *d)
{
	fifo_free(&d->queue);
	line_schedule_destroy(d->schedule);
	free(d);
}

static int
droptail_configure(struct discipline *d, const struct discipline_config *config)
{
	if (!line_valid(config))
		return -EINVAL;
	if (d->queue.count > 0)
		return -EBUSY;
	d->config = *config;
	d->last_departure = (struct exact_time){0};
	line_schedule_destroy(d->schedule);
	return line_schedule_create(&d->schedule, &config->plan, config->rate_bps, config->limit);
}

static void
droptail_begin(struct discipline *d, uint64_t t0_ns)
{
	line_schedule_begin(d->schedule, t0_ns);
}

static bool
refuse(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		packets[i].enqueue_ns = packets[i].dequeue_ns = now_ns;
		packets[i].queue_bytes = (uint32_t)d->stats.queue_bytes;
		packets[i].dropped = true;
		packets[i].reason = DROP_LIMIT;
	}
	d->stats.dropped_packets += n;
	return false;
}

static inline __attribute__((always_inline)) struct exact_time
departure(struct discipline *d, uint32_t bytes, uint64_t now_ns, bool is_scheduled)
{
	struct exact_time from;

	if (!is_scheduled)
		return line_departure(&d->config, later_of(d->last_departure, now_ns), bytes);
	from = line_schedule_start(d->schedule, d->last_departure, now_ns);
	return line_schedule_departure(d->schedule, from, line_bits(&d->config, bytes));
}

static inline __attribute__((always_inline)) void
append(struct discipline *d, struct queue_packet *packet, uint64_t frees, uint64_t now_ns,
       bool is_scheduled)
{
	d->last_departure = departure(d, packet->bytes, now_ns, is_scheduled);
	packet->enqueue_ns = now_ns;
	packet->dequeue_ns = d->last_departure.ns;
	packet->queue_bytes = (uint32_t)d->stats.queue_bytes;
	*(struct waiting *)fifo_push(&d->queue) = (struct waiting){*packet, frees};
	d->stats.queue_bytes += packet->bytes;
	d->stats.queue_packets++;
}

/* What the i-th packet of several that arrive as one frees: each its own when it has left, or the
 * first all of it when it begins to.
 */
static uint64_t
frees_of(const struct discipline *d, const struct queue_packet *packets, uint32_t i, uint64_t units)
{
	if (d->config.counts == COUNTS_SYSTEM)
		return line_units(&d->config, packets[i].bytes);
	return i == 0 ? units : 0;
}

static inline __attribute__((always_inline)) bool
enqueue(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns,
	bool is_scheduled)
{
	uint64_t limit = is_scheduled ? line_schedule_limit(d->schedule, now_ns) : d->config.limit;
	uint64_t units = 0;

	for (uint32_t i = 0; i < n; i++)
		units += line_units(&d->config, packets[i].bytes);
	if (d->used + units > limit || fifo_reserve(&d->queue, n) < 0)
		return refuse(d, packets, n, now_ns);
	if (d->config.counts == COUNTS_SYSTEM || d->queue.count > 0)
		d->used += units;
	for (uint32_t i = 0; i < n; i++)
		append(d, &packets[i], frees_of(d, packets, i, units), now_ns, is_scheduled);
	if (d->stats.queue_bytes > d->stats.peak_bytes)
		d->stats.peak_bytes = d->stats.queue_bytes;
	return true;
}

static bool
droptail_enqueue(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	return enqueue(d, packets, n, now_ns, false);
}

static bool
scheduled_enqueue(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	return enqueue(d, packets, n, now_ns, true);
}

static bool
take_first(struct discipline *d, struct queue_packet *packet)
{
	const struct waiting *head = fifo_head(&d->queue);

	if (head == NULL)
		return false;
	*packet = head->packet;
	if (d->config.counts == COUNTS_SYSTEM)
		d->used -= head->frees;
	fifo_pop(&d->queue);
	head = fifo_head(&d->queue);
	if (d->config.counts == COUNTS_QUEUE && head != NULL)
		d->used -= head->frees;
	d->stats.queue_bytes -= packet->bytes;
	d->stats.queue_packets--;
	return true;
}

static uint64_t
droptail_next_event(const struct discipline *d)
{
	const struct waiting *head = fifo_head(&d->queue);

	return head ? head->packet.dequeue_ns : EVENT_NEVER;
}

static bool
droptail_dequeue(struct discipline *d, struct queue_packet *packet, uint64_t now_ns)
{
	if (droptail_next_event(d) > now_ns)
		return false;
	return take_first(d, packet);
}

/* Discarded packets take no time on the link. */
static bool
droptail_discard(struct discipline *d, struct queue_packet *packet)
{
	bool taken = take_first(d, packet);

	if (d->queue.count == 0)
		d->last_departure = (struct exact_time){0};
	return taken;
}

static int
droptail_describe(const struct discipline *d, char *text, size_t text_bytes)
{
	bool trains = d->config.arrivals == ARRIVALS_TRAINS;
	bool waiting_only = d->config.counts == COUNTS_QUEUE;

	return snprintf(text, text_bytes,
			"drop-tail, %" PRIu64 " bit/s, limit %" PRIu64 " %s, overhead %" PRIu32
			" bytes per packet%s%s",
			d->config.rate_bps, d->config.limit, line_unit_name(d->config.unit),
			d->config.overhead_bytes, trains ? ", trains all or nothing" : "",
			waiting_only ? ", what is being sent does not count" : "");
}

static void
droptail_stats(const struct discipline *d, struct discipline_stats *stats)
{
	*stats = d->stats;
}

static void
droptail_reset_stats(struct discipline *d)
{
	d->stats.peak_bytes = d->stats.queue_bytes;
	d->stats.dropped_packets = 0;
}

const struct discipline_ops droptail_ops = {
	.name = "droptail",
	.create = droptail_create,
	.destroy = droptail_destroy,
	.configure = droptail_configure,
	.enqueue = droptail_enqueue,
	.dequeue = droptail_dequeue,
	.next_event = droptail_next_event,
	.discard = droptail_discard,
	.describe = droptail_describe,
	.stats = droptail_stats,
	.reset_stats = droptail_reset_stats,
};

const struct discipline_ops droptail_scheduled_ops = {
	.name = "droptail",
	.create = droptail_create,
	.destroy = droptail_destroy,
	.configure = droptail_configure,
	.enqueue = scheduled_enqueue,
	.dequeue = droptail_dequeue,
	.next_event = droptail_next_event,
	.discard = droptail_discard,
	.describe = droptail_describe,
	.stats = droptail_stats,
	.reset_stats = droptail_reset_stats,
	.begin = droptail_begin,
};
