/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The hosts' part where the bottleneck is a switch outside: frames from the
 * senders through the delay line to the switch, frames from the switch back
 * through it to the senders, and the switch's postcards off a wire. Time is an
 * argument, as in the bottleneck.
 */
#ifndef NASHBED_HOSTS_H
#define NASHBED_HOSTS_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "common/shared.h"
#include "delays.h"

#define HOSTS_BURST 64u

enum hosts_wire {
	HOSTS_SENDERS,
	HOSTS_SWITCH,
};

/* Where frames and postcards go. */
struct hosts_sink {
	/* A frame for a wire, now owned by the sink, due at departure_ns; lane is
	 * NO_LANE for what is not of the address plan.
	 */
	void (*frame)(void *context, enum hosts_wire wire, struct rte_mbuf *mbuf, uint32_t lane,
		      uint64_t departure_ns);
	void (*postcard)(void *context, uint32_t lane, const uint8_t *bytes);
	void *context;
};

struct hosts {
	struct delays delays;
	struct hosts_sink sink;
	uint64_t bad_postcards; /* frames at the telemetry port that are not postcards of a lane */
};

/* hold_ups as for delays_init(). 0 or -ENOMEM. */
int hosts_init(struct hosts *h, uint32_t n_lanes, struct hold_ups *hold_ups,
	       const struct hosts_sink *sink);
void hosts_free(struct hosts *h);

/* Frames off a wire, and when each arrived, into the delay line. */
void hosts_receive(struct hosts *h, enum hosts_wire wire, struct rte_mbuf **mbufs,
		   const uint64_t *arrivals_ns, uint32_t n);

/* Frames off the telemetry wire; p4src/README.md has their layout. */
void hosts_receive_postcards(struct hosts *h, struct rte_mbuf **mbufs, uint32_t n);

/* Send on what is due by now. */
void hosts_advance(struct hosts *h, uint64_t now_ns);

#endif
