/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A line served by a discipline that decides when it is asked (aqm.h): when the line becomes free,
 * exactly at the previous departure or at an arrival on an idle line, it is asked for the next
 * packet. The limit is kept here, and with it how long a packet counts.
 *
 * Packets that arrive as one are taken or refused as one by the limit, and one by one by the
 * discipline.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disciplines.h"
#include "event_heap.h"
#include "line.h"

struct discipline {
	struct discipline_config config;
	struct line_schedule *schedule; /* NULL: the line does not change */
	struct aqm_line line;		/* which leads back to this, for `drop` */
	void *state;			/* NULL without a configuration */
	struct queue_packet sent;
	bool is_busy;		/* `sent` is being sent */
	struct exact_time free; /* when the line became free, or will */
	uint64_t used;		/* of the limit, in its unit */
	struct fifo dropped;	/* of struct queue_packet: taken, dropped, not yet told */
	struct discipline_stats stats;
};

static struct discipline *
owner_of(struct aqm_line *line)
{
	return (struct discipline *)((uint8_t *)line - offsetof(struct discipline, line));
}

/* The packet is no longer in the discipline's care. */
static void
release(struct discipline *d, const struct queue_packet *packet)
{
	d->line.bytes -= packet->bytes;
	d->line.packets--;
}

static void
drop_taken(struct aqm_line *line, struct queue_packet *packet, enum drop_reason reason,
	   uint64_t now_ns)
{
	struct discipline *d = owner_of(line);

	release(d, packet);
	d->used -= line_units(&d->config, packet->bytes);
	d->stats.queue_bytes -= packet->bytes;
	d->stats.queue_packets--;
	d->stats.dropped_packets++;
	packet->dequeue_ns = now_ns;
	packet->dropped = true;
	packet->mark = false;
	packet->reason = (uint8_t)reason;
	/* Room was made when it was taken. */
	*(struct queue_packet *)fifo_push(&d->dropped) = *packet;
}

static struct discipline *
served_create(void)
{
	struct discipline *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	fifo_init(&d->dropped, sizeof(struct queue_packet));
	d->line.drop = drop_taken;
	return d;
}

static void
end_state(struct discipline *d)
{
	if (d->state != NULL && d->config.aqm.ops->fini != NULL)
		d->config.aqm.ops->fini(d->state);
	free(d->state);
	d->state = NULL;
}

static void
served_destroy(struct discipline *d)
{
	end_state(d);
	fifo_free(&d->dropped);
	line_schedule_destroy(d->schedule);
	free(d);
}

static const void *
parameters_of(const struct discipline_config *config)
{
	if (config->aqm.ops == &queues_ops)
		return &config->queues;
	return config->aqm.config;
}

/* A state as at the beginning; without memory there is none, and the lane drops all. */
static int
begin_state(struct discipline *d)
{
	const struct aqm_ops *aqm = d->config.aqm.ops;

	end_state(d);
	d->free = (struct exact_time){0};
	d->state = calloc(1, aqm->state_bytes);
	if (d->state == NULL)
		return -ENOMEM;
	if (aqm->init(d->state, parameters_of(&d->config), &d->line, d->config.aqm.seed) == 0)
		return 0;
	end_state(d);
	return -ENOMEM;
}

static int
served_configure(struct discipline *d, const struct discipline_config *config)
{
	int error;

	if (!line_valid(config))
		return -EINVAL;
	if (d->stats.queue_packets > 0 || d->dropped.count > 0)
		return -EBUSY;
	end_state(d);
	d->config = *config;
	line_describe(config, &d->line);
	line_schedule_destroy(d->schedule);
	error = line_schedule_create(&d->schedule, &config->plan, config->rate_bps, config->limit);
	return error ? error : begin_state(d);
}

static void
served_begin(struct discipline *d, uint64_t t0_ns)
{
	if (d->schedule != NULL)
		line_schedule_begin(d->schedule, t0_ns);
}

static struct exact_time
departure(struct discipline *d, struct exact_time from, uint32_t bytes)
{
	if (d->schedule == NULL)
		return line_departure(&d->config, from, bytes);
	return line_schedule_departure(d->schedule, from, line_bits(&d->config, bytes));
}

/* When the line, which is idle, may begin with what comes now. */
static struct exact_time
start(struct discipline *d, uint64_t now_ns)
{
	if (d->schedule == NULL)
		return later_of(d->free, now_ns);
	return line_schedule_start(d->schedule, d->free, now_ns);
}

/* The limit of now is the discipline's, too; its line's rate stays that of before t0, of which only
 * RED's idle time is reckoned.
 */
static void
follow_limit(struct discipline *d, uint64_t now_ns)
{
	if (d->schedule == NULL)
		return;
	d->config.limit = line_schedule_limit(d->schedule, now_ns);
	line_limit(&d->config, &d->line);
}

/* Send the next packet from a time on; the line stays free when there is none. */
static void
serve(struct discipline *d, struct exact_time from)
{
	d->free = from;
	d->is_busy = d->config.aqm.ops->dequeue(d->state, &d->line, &d->sent, from.ns);
	d->line.sending_bytes = d->is_busy ? d->sent.bytes : 0;
	if (!d->is_busy)
		return;
	release(d, &d->sent);
	if (d->config.counts == COUNTS_QUEUE)
		d->used -= line_units(&d->config, d->sent.bytes);
	d->free = departure(d, from, d->sent.bytes);
	d->sent.dequeue_ns = d->free.ns;
}

static void
arrive(const struct discipline *d, struct queue_packet *packet, uint64_t now_ns)
{
	packet->enqueue_ns = packet->dequeue_ns = now_ns;
	packet->queue_bytes = (uint32_t)d->stats.queue_bytes;
	packet->mark = packet->dropped = false;
	packet->reason = DROP_LIMIT;
}

static void
refuse(struct discipline *d, struct queue_packet *packet)
{
	packet->mark = false;
	packet->dropped = true;
	d->stats.dropped_packets++;
}

/* After each arrival, also of what was refused: RED's idle time begins anew by it, as Linux's. */
static void
ask_when_idle(struct discipline *d, uint64_t now_ns)
{
	if (!d->is_busy)
		serve(d, start(d, now_ns));
}

static bool
refuse_all(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	bool is_told = d->state != NULL && d->config.aqm.ops->refused != NULL;

	for (uint32_t i = 0; i < n; i++) {
		arrive(d, &packets[i], now_ns);
		if (is_told)
			d->config.aqm.ops->refused(d->state, &d->line, &packets[i], now_ns);
		refuse(d, &packets[i]);
	}
	if (is_told)
		ask_when_idle(d, now_ns);
	return false;
}

static uint64_t
units_of_all(const struct discipline *d, const struct queue_packet *packets, uint32_t n)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < n; i++)
		units += line_units(&d->config, packets[i].bytes);
	return units;
}

/* Whether there is room, or some can be made. */
static bool
can_hold(const struct discipline *d, uint64_t units)
{
	const struct aqm_ops *aqm = d->config.aqm.ops;
	uint64_t used = aqm->make_room == NULL ? d->used : 0;

	return aqm->keeps_limit || used + units <= d->config.limit;
}

static bool
take(struct discipline *d, struct queue_packet *packet, uint64_t now_ns)
{
	arrive(d, packet, now_ns);
	if (!d->config.aqm.ops->enqueue(d->state, &d->line, packet, now_ns)) {
		refuse(d, packet);
		ask_when_idle(d, now_ns);
		return false;
	}
	d->used += line_units(&d->config, packet->bytes);
	d->line.bytes += packet->bytes;
	d->line.packets++;
	d->stats.queue_bytes += packet->bytes;
	d->stats.queue_packets++;
	ask_when_idle(d, now_ns);
	while (d->used > d->config.limit && d->line.packets > 0)
		d->config.aqm.ops->make_room(d->state, &d->line, now_ns);
	if (d->stats.queue_bytes > d->stats.peak_bytes)
		d->stats.peak_bytes = d->stats.queue_bytes;
	return true;
}

/* One of several that the discipline refuses comes out as if it had been dropped at once. */
static void
take_each(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++)
		if (!take(d, &packets[i], now_ns))
			*(struct queue_packet *)fifo_push(&d->dropped) = packets[i];
}

static bool
served_enqueue(struct discipline *d, struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	uint32_t may_drop = (uint32_t)d->stats.queue_packets + n;

	follow_limit(d, now_ns);
	if (d->state == NULL || !can_hold(d, units_of_all(d, packets, n)) ||
	    fifo_reserve(&d->dropped, may_drop) < 0)
		return refuse_all(d, packets, n, now_ns);
	if (n == 1)
		return take(d, packets, now_ns);
	take_each(d, packets, n, now_ns);
	return true;
}

/* What is being sent leaves. */
static void
leave(struct discipline *d, struct queue_packet *packet)
{
	*packet = d->sent;
	d->is_busy = false;
	d->line.sending_bytes = 0;
	if (d->config.counts == COUNTS_SYSTEM)
		d->used -= line_units(&d->config, packet->bytes);
	d->stats.queue_bytes -= packet->bytes;
	d->stats.queue_packets--;
}

static bool
take_dropped(struct discipline *d, struct queue_packet *packet)
{
	const struct queue_packet *first = fifo_head(&d->dropped);

	if (first == NULL)
		return false;
	*packet = *first;
	fifo_pop(&d->dropped);
	return true;
}

static uint64_t
served_next_event(const struct discipline *d)
{
	const struct queue_packet *first = fifo_head(&d->dropped);

	if (first != NULL)
		return first->dequeue_ns;
	return d->is_busy ? d->sent.dequeue_ns : EVENT_NEVER;
}

static bool
served_dequeue(struct discipline *d, struct queue_packet *packet, uint64_t now_ns)
{
	if (served_next_event(d) > now_ns)
		return false;
	if (take_dropped(d, packet))
		return true;
	leave(d, packet);
	serve(d, d->free);
	return true;
}

/* Discarded packets take no time on the line. With the last one the discipline begins anew. */
static bool
served_discard(struct discipline *d, struct queue_packet *packet)
{
	if (!take_dropped(d, packet)) {
		if (!d->is_busy)
			return false;
		leave(d, packet);
		serve(d, d->free);
	}
	if (!d->is_busy && d->dropped.count == 0)
		begin_state(d);
	return true;
}

static int
served_describe(const struct discipline *d, char *text, size_t text_bytes)
{
	const struct discipline_config *config = &d->config;
	const struct aqm_ops *aqm = config->aqm.ops;
	struct description line = {text, text_bytes, 0};

	describe_add(&line,
		     "%s, %" PRIu64 " bit/s, limit %" PRIu64 " %s, overhead %" PRIu32
		     " bytes per packet",
		     aqm->name, config->rate_bps, config->limit, line_unit_name(config->unit),
		     config->overhead_bytes);
	if (aqm == &queues_ops)
		queues_describe(&config->queues, &line);
	else
		describe_params(&line, aqm->params, config->aqm.config);
	return (int)line.at;
}

static void
served_stats(const struct discipline *d, struct discipline_stats *stats)
{
	*stats = d->stats;
}

static void
served_reset_stats(struct discipline *d)
{
	d->stats.peak_bytes = d->stats.queue_bytes;
	d->stats.dropped_packets = 0;
}

const struct discipline_ops served_ops = {
	.name = "served",
	.drops_taken = true,
	.create = served_create,
	.destroy = served_destroy,
	.configure = served_configure,
	.enqueue = served_enqueue,
	.dequeue = served_dequeue,
	.next_event = served_next_event,
	.discard = served_discard,
	.describe = served_describe,
	.stats = served_stats,
	.reset_stats = served_reset_stats,
	.begin = served_begin,
};
