/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The whole path of a packet: delay line, P4 ingress, traffic manager, P4
 * egress, wire. Time is an argument, so the same code runs on a clock and in
 * virtual time; only what drives the data plane (live/, virtual/) knows the time.
 *
 * Events are worked off in the order of their times up to now, however late
 * the call comes. Frames come with the times of their arrival, so a late poll changes neither which
 * packets are dropped nor the length of the queue at any time: only when frames really leave. Where
 * arrivals are not stamped, a late poll is their arrival. Only P4 ingress runs ahead of that
 * order, by one burst: P4's own count of a flow's bytes in the queue (and so
 * its peak) may be high by what arrived within one poll. With bursts of one packet, as in
 * virtual time, nothing runs ahead and the count is exact.
 */
#ifndef NASHBED_BOTTLENECK_H
#define NASHBED_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "core/return_queue.h"
#include "core/traffic_manager.h"
#include "core/train.h"
#include "delays.h"
#include "pipeline/pipeline.h"

#define NOT_SHAPED NO_LANE

/* Where packets and postcards go. */
struct bottleneck_sink {
	/* A frame for a wire, now owned by the sink, and when it is scheduled to leave; on its
	 * way back that may be in the past. lane is NOT_SHAPED for frames that are no lane's,
	 * and for those that go out without having been in a queue.
	 */
	void (*frame)(void *context, enum pipeline_port wire, struct rte_mbuf *mbuf, uint32_t lane,
		      uint64_t departure_ns);
	/* As long as its version says (core/postcard.h). */
	void (*postcard)(void *context, uint32_t lane, const uint8_t *bytes);
	void *context;
};

/* Packets that were dropped inside. Only `discarded` should ever be above 0. */
struct bottleneck_drops {
	uint64_t p4;	    /* P4 sent a packet to the drop port */
	uint64_t bad_lane;  /* P4 chose a lane that does not exist */
	uint64_t headroom;  /* too little headroom in front of the frame */
	uint64_t discarded; /* queued in lanes that were reset */
};

struct bottleneck {
	struct pipeline *pipeline;
	struct traffic_manager tm;
	struct return_queues returns;
	struct delays delays;
	struct bottleneck_sink sink;
	struct bottleneck_drops drops;
	uint32_t n_lanes;
	uint32_t ingress_burst;
	uint64_t done_ns; /* every event up to this time has been worked off */
	/* Past P4 ingress, not yet at the traffic manager: empty between two calls. */
	struct train train;
	/* Packets past the traffic manager, not yet through P4 egress. */
	struct queue_packet egress[PIPELINE_BURST];
	uint32_t n_egress;
};

/* hold_ups as for delays_init(). 0 or -ENOMEM. */
int bottleneck_init(struct bottleneck *b, struct pipeline *pipeline, uint32_t n_lanes,
		    uint32_t ingress_burst, struct hold_ups *hold_ups,
		    const struct bottleneck_sink *sink);
void bottleneck_free(struct bottleneck *b);

/* Frames off a wire, and when each arrived, into the delay line. */
void bottleneck_receive(struct bottleneck *b, enum pipeline_port wire, struct rte_mbuf **mbufs,
			const uint64_t *arrivals_ns, uint32_t n);

/* Work off every event up to now. */
void bottleneck_advance(struct bottleneck *b, uint64_t now_ns);

/* The time of the next event, EVENT_NEVER where none is known. */
uint64_t bottleneck_next_event(const struct bottleneck *b);

/* Throw away what a lane has queued or delayed and forget its delays. */
void bottleneck_reset_lane(struct bottleneck *b, uint32_t lane);

/* What a lane's queue and delays schedule begins at t0, which has not come yet. */
void bottleneck_begin_lane(struct bottleneck *b, uint32_t lane, uint64_t t0_ns);

#endif
