/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which frame caused an acknowledgement: what left when, by the end of its data in the stream.
 *
 * A receiver's acknowledgement names the data that came last: by its first SACK block where data
 * is missing (RFC 2018, section 4: that block has the segment that triggered it), else by its
 * number. With this, lateness on the way out can be given back on the way back, and the time
 * that the receiver took is known. On a clock that is given back, too: a busy core sends
 * acknowledgements late and in bunches, and whatever they trigger comes to the queue in bunches.
 *
 * An entry is used once, and may be overwritten by one that falls into the same place. Where the cause
 * is not found, or a hole was filled, the frame of the connection that left last stands for it.
 * Acknowledgements of a connection never overtake each other.
 */
#ifndef NASHBED_ROUND_TRIPS_H
#define NASHBED_ROUND_TRIPS_H

#include <stdbool.h>
#include <stdint.h>

/* Below it every loss is repaired by a timer, and a receiver may wait for a frame that the sender
 * may not send yet: what passes until an acknowledgement says nothing of the host.
 */
#define ROUND_TRIPS_LEAST_FLIGHT 4u

/* Data on its way to a receiver. A frame that nobody acknowledges has no connection. */
struct round_trip_data {
	uint32_t connection; /* 0: none */
	uint32_t end;	     /* the sequence number after its last byte; SYN and FIN count as one */
	uint32_t bytes;
	bool is_first; /* SYN: what is known of an earlier connection of this name is void */
};

/* An acknowledgement on its way back. */
struct round_trip_ack {
	uint32_t connection; /* 0: none */
	uint32_t number;
	bool has_block;	     /* SACK */
	uint32_t block_end;  /* of the first one */
	bool receiver_waits; /* its program reads at intervals: what it takes is the scenario's */
};

/* What caused it. */
struct round_trip_cause {
	/* How late it left, and what the receiver took, as far as that may be given back. */
	uint64_t late_ns;
	/* From when it really left until its acknowledgement arrived; known only where the
	 * receiver had no reason to wait for another frame, and the connection neither repairs a
	 * loss nor has fewer than ROUND_TRIPS_LEAST_FLIGHT packets in flight.
	 */
	bool has_response;
	uint64_t response_ns;
};

struct round_trip_departure;
struct round_trip_connection;

struct round_trips {
	struct round_trip_departure *departures;
	struct round_trip_connection *connections;
};

/* 0 or -ENOMEM. */
int round_trips_init(struct round_trips *r);
void round_trips_free(struct round_trips *r);

/* This data will depart soon: have its entry brought into the cache. */
void round_trips_expect(const struct round_trips *r, const struct round_trip_data *data);

/* This data has come from its sender, and may yet be dropped. Told on a clock only: in virtual time
 * no host is ever late, every acknowledgement counts, and no response is given back.
 */
void round_trips_sent(struct round_trips *r, const struct round_trip_data *data);

void round_trips_departed(struct round_trips *r, const struct round_trip_data *data,
			  uint64_t scheduled_ns, uint64_t departed_ns);

struct round_trip_cause round_trips_cause(struct round_trips *r, const struct round_trip_ack *ack,
					  uint64_t arrival_ns);

#endif
