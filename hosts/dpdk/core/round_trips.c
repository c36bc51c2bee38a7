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

/* What the last acknowledgement of a connection said. */
struct round_trip_connection {
	uint32_t connection;
	uint32_t number;
	bool has_block;
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

void
round_trips_departed(struct round_trips *r, const struct round_trip_data *data,
		     uint64_t scheduled_ns, uint64_t departed_ns)
{
	uint64_t key = key_of(data->connection, data->end);
	uint64_t late_ns = departed_ns > scheduled_ns ? departed_ns - scheduled_ns : 0;

	if (data->connection == 0)
		return;
	r->departures[place(key, DEPARTURES_LOG2)] = (struct round_trip_departure){
		.key = key,
		.departed_ns = departed_ns,
		.late_ns = late_ns < UINT32_MAX ? (uint32_t)late_ns : UINT32_MAX,
		.bytes = data->bytes,
	};
}

/* Whether it acknowledges more than its cause, with nothing missing before or after: then the cause
 * was the second frame in a row, and no timer put the acknowledgement off. Where data is missing the
 * kernel puts some off, too (tcp_comp_sack), and what fills a hole is not what the number names.
 */
static bool
is_prompt(const struct round_trip_connection *last, const struct round_trip_ack *ack,
	  const struct round_trip_departure *cause)
{
	return last->connection == ack->connection && !last->has_block && !ack->has_block &&
	       ack->number - last->number > cause->bytes;
}

/* Whether the number names what came last: not where it fills a hole. */
static bool
names_cause(const struct round_trip_connection *last, const struct round_trip_ack *ack)
{
	return ack->has_block || last->connection != ack->connection || !last->has_block;
}

struct round_trip_cause
round_trips_cause(struct round_trips *r, const struct round_trip_ack *ack, uint64_t arrival_ns)
{
	uint64_t key = key_of(ack->connection, ack->has_block ? ack->block_end : ack->number);
	struct round_trip_departure *cause = &r->departures[place(key, DEPARTURES_LOG2)];
	struct round_trip_connection *last =
		&r->connections[place(ack->connection, CONNECTIONS_LOG2)];
	struct round_trip_cause found = {0};

	if (ack->connection == 0)
		return found;
	if (cause->key == key && cause->departed_ns <= arrival_ns) {
		found.late_ns = names_cause(last, ack) ? cause->late_ns : 0;
		found.has_response = is_prompt(last, ack, cause);
		found.response_ns = arrival_ns - cause->departed_ns;
		cause->key = 0;
	}
	*last = (struct round_trip_connection){
		.connection = ack->connection,
		.number = ack->number,
		.has_block = ack->has_block,
	};
	return found;
}
