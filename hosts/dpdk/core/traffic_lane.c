/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* When the line becomes free, exactly at the previous departure or at an arrival on an idle line, its
 * discipline is asked for the next packet. The limit is kept here, and with it how long a packet
 * counts. A limit that shrinks drops nothing that waits, unless the discipline makes room.
 *
 * Packets that arrive as one are taken or refused as one by the limit, and one by one by the
 * discipline.
 */
#include "traffic_lane.h"

#include <inttypes.h>

#include "disciplines.h"
#include "line.h"
#include "queues.h"

static const struct aqm_ops *
discipline_of(const struct traffic_lane *lane)
{
	return lane->config.discipline.ops;
}

/* Waiting or being sent. */
static uint64_t
queue_bytes(const struct traffic_lane *lane)
{
	return lane->line.bytes + lane->line.sending_bytes;
}

/* The packet is no longer in the discipline's care. */
static void
release(struct traffic_lane *lane, const struct queue_packet *packet)
{
	lane->line.bytes -= packet->bytes;
	lane->line.packets--;
}

static void
refuse(struct traffic_lane *lane, struct queue_packet *packet, uint64_t now_ns)
{
	packet->dequeue_ns = now_ns;
	packet->dropped = true;
	packet->mark = false;
	lane->dropped_packets++;
}

static void
drop_taken(struct aqm_line *line, struct queue_packet *packet, enum drop_reason reason,
	   uint64_t now_ns)
{
	struct traffic_lane *lane = (void *)((uint8_t *)line - offsetof(struct traffic_lane, line));

	release(lane, packet);
	lane->used -= packet->units;
	packet->reason = (uint8_t)reason;
	refuse(lane, packet, now_ns);
	/* Room was made when it was taken. */
	*(struct queue_packet *)fifo_push(&lane->dropped) = *packet;
}

void
traffic_lane_init(struct traffic_lane *lane)
{
	*lane = (struct traffic_lane){.line.drop = drop_taken,
				      .config.discipline.ops = &droptail_ops};
	fifo_init(&lane->dropped, sizeof(struct queue_packet));
}

static void
end_state(struct traffic_lane *lane)
{
	if (lane->state != NULL && discipline_of(lane)->fini != NULL)
		discipline_of(lane)->fini(lane->state);
	free(lane->state);
	lane->state = NULL;
}

void
traffic_lane_free(struct traffic_lane *lane)
{
	end_state(lane);
	fifo_free(&lane->dropped);
	line_schedule_destroy(lane->schedule);
}

static const void *
parameters_of(const struct lane_config *config)
{
	if (config->discipline.ops == &queues_ops)
		return &config->queues;
	return config->discipline.config;
}

/* A state as at the beginning; without memory there is none, and the lane drops all. */
static int
begin_state(struct traffic_lane *lane)
{
	const struct aqm_ops *discipline = discipline_of(lane);

	end_state(lane);
	lane->free = (struct exact_time){0};
	lane->state = calloc(1, discipline->state_bytes);
	if (lane->state == NULL)
		return -ENOMEM;
	if (discipline->init(lane->state, parameters_of(&lane->config), &lane->line,
			     lane->config.discipline.seed) == 0)
		return 0;
	end_state(lane);
	return -ENOMEM;
}

int
traffic_lane_configure(struct traffic_lane *lane, const struct lane_config *config)
{
	struct line_schedule *schedule;
	int error;

	if (!shaper_valid(config))
		return -EINVAL;
	if (queue_bytes(lane) > 0 || lane->dropped.count > 0)
		return -EBUSY;
	error = line_schedule_create(&schedule, &config->schedule, config->rate_bps,
				     config->limit.value);
	if (error)
		return error;
	line_schedule_destroy(lane->schedule);
	end_state(lane);
	lane->schedule = schedule;
	lane->config = *config;
	lane->limit = config->limit.value;
	if (config->discipline.ops == NULL)
		lane->config.discipline.ops = &droptail_ops;
	lane->is_constant = lane->schedule == NULL && !shaper_is_asked(config);
	token_bucket_init(&lane->policer, config->policer.rate_bps, config->policer.burst_bytes);
	shaper_init(&lane->shaper, config);
	line_describe(config, &lane->line);
	return begin_state(lane);
}

/* Not inlined, so that a line of one rate pays nothing for it. */
static __attribute__((noinline)) struct exact_time
other_departure(struct traffic_lane *lane, struct exact_time from, uint32_t bytes)
{
	if (lane->schedule != NULL)
		return line_schedule_departure(lane->schedule, from,
					       line_bits(&lane->config, bytes));
	bytes += lane->config.overhead_bytes;
	return (struct exact_time){.ns = shaper_departure(&lane->shaper, from.ns, bytes)};
}

static struct exact_time
departure(struct traffic_lane *lane, struct exact_time from, uint32_t bytes)
{
	if (lane->is_constant)
		return line_departure(&lane->config, from, bytes);
	return other_departure(lane, from, bytes);
}

/* When the line, which is idle, may begin with what comes now. */
static struct exact_time
start(struct traffic_lane *lane, uint64_t now_ns)
{
	if (lane->schedule == NULL)
		return later_of(lane->free, now_ns);
	return line_schedule_start(lane->schedule, lane->free, now_ns);
}

/* The limit of now is the discipline's, too; its line's rate stays that of before t0, of which only
 * RED's idle time is reckoned.
 */
static void
follow_limit(struct traffic_lane *lane, uint64_t now_ns)
{
	if (lane->schedule == NULL)
		return;
	lane->limit = line_schedule_limit(lane->schedule, now_ns);
	line_limit(&lane->config, lane->limit, &lane->line);
}

/* Send the next packet from a time on; the line stays free when there is none. */
static void
serve(struct traffic_lane *lane, struct exact_time from)
{
	struct queue_packet *sent = &lane->sent;

	lane->free = from;
	lane->is_busy = discipline_of(lane)->dequeue(lane->state, &lane->line, sent, from.ns);
	if (!lane->is_busy)
		return;
	release(lane, sent);
	lane->line.sending_bytes = sent->bytes;
	lane->sent_units = lane->line.counts_sent ? sent->units : 0;
	lane->used -= sent->units - lane->sent_units;
	lane->free = departure(lane, from, sent->bytes);
	sent->dequeue_ns = lane->free.ns;
}

/* After each arrival, also of what was refused: RED's idle time begins anew by it, as Linux's. */
static void
ask_when_idle(struct traffic_lane *lane, uint64_t now_ns)
{
	if (!lane->is_busy)
		serve(lane, start(lane, now_ns));
}

static void
arrive(const struct traffic_lane *lane, struct queue_packet *packet, enum drop_reason reason,
       uint64_t now_ns)
{
	packet->enqueue_ns = now_ns;
	packet->queue_bytes = (uint32_t)queue_bytes(lane);
	packet->mark = packet->dropped = false;
	packet->reason = (uint8_t)reason;
}

static bool
refuse_all(struct traffic_lane *lane, struct queue_packet *packets, uint32_t n,
	   enum drop_reason reason, uint64_t now_ns)
{
	bool is_told =
		reason == DROP_LIMIT && lane->state != NULL && discipline_of(lane)->refused != NULL;

	for (uint32_t i = 0; i < n; i++) {
		arrive(lane, &packets[i], reason, now_ns);
		if (is_told)
			discipline_of(lane)->refused(lane->state, &lane->line, &packets[i], now_ns);
		refuse(lane, &packets[i], now_ns);
	}
	if (is_told)
		ask_when_idle(lane, now_ns);
	return false;
}

/* Whether there is room, or some can be made. */
static bool
can_hold(const struct traffic_lane *lane, uint64_t units)
{
	const struct aqm_ops *discipline = discipline_of(lane);
	uint64_t used = discipline->make_room == NULL ? lane->used : 0;

	return used + units <= lane->limit || discipline->keeps_limit;
}

/* Whether a shaper lets packets of such lengths pass at all. */
static bool
can_leave(const struct traffic_lane *lane, const struct queue_packet *packets, uint32_t n)
{
	if (lane->is_constant || lane->schedule != NULL)
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (!shaper_holds(&lane->shaper,
				  (uint64_t)packets[i].bytes + lane->config.overhead_bytes))
			return false;
	return true;
}

static void
make_room(struct traffic_lane *lane, uint64_t now_ns)
{
	const struct aqm_ops *discipline = discipline_of(lane);

	while (lane->used > lane->limit && lane->line.packets > 0 && discipline->make_room != NULL)
		discipline->make_room(lane->state, &lane->line, now_ns);
}

/* A packet, and what it frees of the limit when it has left, or when it begins to. */
static bool
take(struct traffic_lane *lane, struct queue_packet *packet, uint64_t units, uint64_t now_ns)
{
	bool taken;

	arrive(lane, packet, DROP_LIMIT, now_ns);
	packet->units = units;
	taken = discipline_of(lane)->enqueue(lane->state, &lane->line, packet, now_ns);
	if (!taken) {
		refuse(lane, packet, now_ns);
		ask_when_idle(lane, now_ns);
		return false;
	}
	lane->used += units;
	lane->line.bytes += packet->bytes;
	lane->line.packets++;
	ask_when_idle(lane, now_ns);
	make_room(lane, now_ns);
	if (queue_bytes(lane) > lane->peak_bytes)
		lane->peak_bytes = queue_bytes(lane);
	return true;
}

/* Each frees its own when it has left, or the first all of it when it begins to. One that the
 * discipline refuses comes out as if it had been dropped at once.
 */
static void
take_each(struct traffic_lane *lane, struct queue_packet *packets, uint32_t n, uint64_t units,
	  uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t own = lane->line.counts_sent ?
				       line_units(&lane->config, packets[i].bytes) :
				       (i == 0 ? units : 0);

		if (!take(lane, &packets[i], own, now_ns))
			*(struct queue_packet *)fifo_push(&lane->dropped) = packets[i];
	}
}

/* Packets that arrive as one pass the policer or are dropped by it as one. */
static bool
police(struct traffic_lane *lane, const struct queue_packet *packets, uint32_t n, uint64_t now_ns)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += (uint64_t)packets[i].bytes + lane->config.overhead_bytes;
	return token_bucket_admits(&lane->policer, bytes, now_ns);
}

bool
traffic_lane_enqueue(struct traffic_lane *lane, struct queue_packet *packets, uint32_t n,
		     uint64_t now_ns)
{
	uint64_t units = 0;

	if (lane->policer.rate_bps > 0 && !police(lane, packets, n, now_ns))
		return refuse_all(lane, packets, n, DROP_POLICER, now_ns);
	follow_limit(lane, now_ns);
	for (uint32_t i = 0; i < n; i++)
		units += line_units(&lane->config, packets[i].bytes);
	if (lane->state == NULL || !can_hold(lane, units) || !can_leave(lane, packets, n) ||
	    fifo_reserve(&lane->dropped, (uint32_t)lane->line.packets + n) < 0)
		return refuse_all(lane, packets, n, DROP_LIMIT, now_ns);
	if (n == 1)
		return take(lane, packets, units, now_ns);
	take_each(lane, packets, n, units, now_ns);
	return true;
}

bool
traffic_lane_dequeue(struct traffic_lane *lane, struct queue_packet *packet)
{
	if (aqm_pop(&lane->dropped, packet))
		return true;
	if (!lane->is_busy)
		return false;
	*packet = lane->sent;
	lane->line.sending_bytes = 0;
	lane->used -= lane->sent_units;
	serve(lane, lane->free);
	return true;
}

bool
traffic_lane_discard(struct traffic_lane *lane, struct queue_packet *packet)
{
	if (!traffic_lane_dequeue(lane, packet))
		return false;
	if (!lane->is_busy && lane->dropped.count == 0)
		begin_state(lane);
	return true;
}

int
traffic_lane_describe(const struct traffic_lane *lane, char *text, size_t text_bytes)
{
	const struct lane_config *config = &lane->config;
	struct description line = {text, text_bytes, 0};

	if (config->policer.rate_bps > 0)
		describe_add(&line, "policer %" PRIu64 " bit/s, burst %" PRIu64 " bytes; ",
			     config->policer.rate_bps, config->policer.burst_bytes);
	if (shaper_is_asked(config))
		describe_add(&line, "shaper, burst %" PRIu64 " bytes; ",
			     config->shaper.burst_bytes);
	if (config->shaper.peak_bps > 0)
		describe_add(&line, "peak %" PRIu64 " bit/s, mtu %" PRIu64 " bytes; ",
			     config->shaper.peak_bps, config->shaper.mtu_bytes);
	describe_name(&line, config->discipline.ops);
	describe_add(&line,
		     ", %" PRIu64 " bit/s, limit %" PRIu64 " %s, overhead %" PRIu32
		     " bytes per packet",
		     config->rate_bps, config->limit.value, line_unit_name(config->limit.unit),
		     config->overhead_bytes);
	if (config->arrive_as == ARRIVE_AS_TRAINS)
		describe_add(&line, ", trains all or nothing");
	if (!lane->line.counts_sent && config->discipline.ops == &droptail_ops)
		describe_add(&line, ", what is being sent does not count");
	if (config->discipline.ops == &queues_ops)
		queues_describe(&config->queues, &line);
	else
		describe_params(&line, config->discipline.ops->params, config->discipline.config);
	return (int)line.at;
}

void
traffic_lane_stats(const struct traffic_lane *lane, struct lane_stats *stats)
{
	*stats = (struct lane_stats){
		.queue_bytes = queue_bytes(lane),
		.queue_packets = lane->line.packets + lane->is_busy,
		.peak_bytes = lane->peak_bytes,
		.dropped_packets = lane->dropped_packets,
	};
}

void
traffic_lane_reset_stats(struct traffic_lane *lane)
{
	lane->peak_bytes = queue_bytes(lane);
	lane->dropped_packets = 0;
}
