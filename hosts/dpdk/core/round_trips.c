/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "round_trips.h"

#include <errno.h>
#include <stdlib.h>

/* At 100,000 packets a second a third of a second's; a pause of the flows' core takes less. */
#define DEPARTURES_LOG2 16u
#define CONNECTIONS_LOG2 14u

struct round_trip_departure {
	uint64_t key; /* 0: none */
	uint64_t departed_ns;
	uint32_t late_ns; /* saturated */
	uint32_t bytes;
};

/* What was sent so far, what left last, and what the last acknowledgement said. */
struct round_trip_connection {
	uint32_t connection;
	uint32_t late_ns; /* of the frame that left last */
	uint64_t departed_ns;
	bool has_sent;
	bool is_repairing; /* until all that was sent by recovery_end is acknowledged */
	bool was_acknowledged;
	bool has_block;
	uint32_t sent_end; /* the highest yet */
	uint32_t recovery_end;
	uint32_t full_bytes; /* of the largest frame */
	uint32_t number;
	uint64_t
		on_time_ns; /* when the last acknowledgement would have come, had nothing been late */
};

int
round_trips_init(struct round_trips *r)
{
	r->departures = calloc(1u << DEPARTURES_LOG2, sizeof(*r->departures));
	r->connections = calloc(1u << CONNECTIONS_LOG2, sizeof(*r->connections));
	if (r->departures != NULL && r->connections != NULL)
		return 0;
	round_trips_free(r);
	return -ENOMEM;
}

void
round_trips_free(struct round_trips *r)
{
	free(r->departures);
	free(r->connections);
	*r = (struct round_trips){0};
}

/* Fibonacci hashing (Knuth, volume 3, section 6.4). */
static uint32_t
place(uint64_t key, uint32_t log2)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - log2));
}

static uint64_t
key_of(uint32_t connection, uint32_t end)
{
	return (uint64_t)connection << 32 | end;
}

/* A connection's entry; one that falls into the same place takes it over. */
static struct round_trip_connection *
connection_at(struct round_trips *r, uint32_t connection)
{
	struct round_trip_connection *c = &r->connections[place(connection, CONNECTIONS_LOG2)];

	if (c->connection != connection)
		*c = (struct round_trip_connection){.connection = connection};
	return c;
}

static void
note_departure(struct round_trip_connection *c, uint64_t departed_ns, uint32_t late_ns)
{
	c->departed_ns = departed_ns;
	c->late_ns = late_ns;
}

static uint32_t
saturated(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void
round_trips_expect(const struct round_trips *r, const struct round_trip_data *data)
{
	uint64_t key = key_of(data->connection, data->end);

	if (data->connection != 0)
		__builtin_prefetch(&r->departures[place(key, DEPARTURES_LOG2)], 1);
}

/* Sequence numbers wrap (RFC 9293, section 3.4). */
static bool
is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static void
begin_repair(struct round_trip_connection *c)
{
	c->is_repairing = c->has_sent;
	c->recovery_end = c->sent_end;
}

void
round_trips_sent(struct round_trips *r, const struct round_trip_data *data)
{
	struct round_trip_connection *c;

	if (data->connection == 0)
		return;
	c = connection_at(r, data->connection);
	if (data->is_first)
		*c = (struct round_trip_connection){.connection = data->connection};
	if (c->has_sent && !is_after(data->end, c->sent_end)) {
		begin_repair(c);
		return;
	}
	c->has_sent = true;
	c->sent_end = data->end;
	if (data->bytes > c->full_bytes)
		c->full_bytes = data->bytes;
}

void
round_trips_departed(struct round_trips *r, const struct round_trip_data *data,
		     uint64_t scheduled_ns, uint64_t departed_ns)
{
	uint64_t key = key_of(data->connection, data->end);
	uint64_t late_ns = departed_ns > scheduled_ns ? departed_ns - scheduled_ns : 0;

	if (data->connection == 0)
		return;
	note_departure(connection_at(r, data->connection), departed_ns, saturated(late_ns));
	r->departures[place(key, DEPARTURES_LOG2)] = (struct round_trip_departure){
		.key = key,
		.departed_ns = departed_ns,
		.late_ns = saturated(late_ns),
		.bytes = data->bytes,
	};
}

/* Whether timers rule the connection: it repairs a loss, or had too little in flight before the next
 * acknowledgement. Not known, and not asked, where nobody tells what was sent.
 */
static bool
timers_rule(const struct round_trip_connection *last)
{
	uint32_t too_few_bytes = (ROUND_TRIPS_LEAST_FLIGHT - 1) * last->full_bytes;

	return last->has_sent &&
	       (last->is_repairing || !is_after(last->sent_end, last->number + too_few_bytes));
}

/* Whether it acknowledges more than its cause, with nothing missing before or after: then the cause
 * was the second frame in a row, and no timer put the acknowledgement off. Where data is missing the
 * kernel puts some off, too (tcp_comp_sack), and what fills a hole is not what the number names.
 */
static bool
is_prompt(const struct round_trip_connection *last, const struct round_trip_ack *ack,
	  const struct round_trip_departure *cause)
{
	return last->was_acknowledged && !last->has_block && !ack->has_block &&
	       !timers_rule(last) && ack->number - last->number > cause->bytes;
}

/* Whether the number names what came last: not where it fills a hole. */
static bool
names_cause(const struct round_trip_connection *last, const struct round_trip_ack *ack)
{
	return ack->has_block || !last->has_block;
}

/* The frame that the acknowledgement names, if it left and nobody else has named it; else NULL. */
static struct round_trip_departure *
find_cause(struct round_trips *r, const struct round_trip_ack *ack, uint64_t arrival_ns)
{
	uint64_t key = key_of(ack->connection, ack->has_block ? ack->block_end : ack->number);
	struct round_trip_departure *cause = &r->departures[place(key, DEPARTURES_LOG2)];

	return cause->key == key && cause->departed_ns <= arrival_ns ? cause : NULL;
}

static uint64_t
lateness_of(const struct round_trip_connection *last, const struct round_trip_ack *ack,
	    const struct round_trip_departure *cause, uint64_t arrival_ns)
{
	if (cause != NULL && names_cause(last, ack))
		return cause->late_ns;
	return last->departed_ns <= arrival_ns ? last->late_ns : 0;
}

/* What it took the receiver, where it had no reason to wait. */
static void
find_response(const struct round_trip_connection *last, const struct round_trip_ack *ack,
	      const struct round_trip_departure *cause, uint64_t arrival_ns,
	      struct round_trip_cause *found)
{
	if (cause == NULL || !is_prompt(last, ack, cause))
		return;
	found->has_response = true;
	found->response_ns = arrival_ns - cause->departed_ns;
	if (last->has_sent && !ack->receiver_waits)
		found->late_ns += found->response_ns;
}

static void
remember(struct round_trip_connection *c, const struct round_trip_ack *ack, uint64_t on_time_ns)
{
	c->was_acknowledged = true;
	c->has_block = ack->has_block;
	c->number = ack->number;
	if (ack->has_block)
		begin_repair(c);
	else if (c->is_repairing && !is_after(c->recovery_end, ack->number))
		c->is_repairing = false;
	c->on_time_ns = on_time_ns;
}

struct round_trip_cause
round_trips_cause(struct round_trips *r, const struct round_trip_ack *ack, uint64_t arrival_ns)
{
	struct round_trip_connection *last;
	struct round_trip_departure *cause;
	struct round_trip_cause found = {0};
	uint64_t on_time_ns;

	if (ack->connection == 0)
		return found;
	last = connection_at(r, ack->connection);
	cause = find_cause(r, ack, arrival_ns);
	found.late_ns = lateness_of(last, ack, cause, arrival_ns);
	find_response(last, ack, cause, arrival_ns, &found);
	on_time_ns = arrival_ns > found.late_ns ? arrival_ns - found.late_ns : 0;
	if (on_time_ns < last->on_time_ns)
		on_time_ns = last->on_time_ns;
	found.late_ns = arrival_ns - on_time_ns;
	if (cause != NULL)
		cause->key = 0;
	remember(last, ack, on_time_ns);
	return found;
}
