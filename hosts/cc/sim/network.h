/* SPDX-License-Identifier: Apache-2.0 */
/* The path that the simulator's flows share: one drop-tail bottleneck, then a constant delay to the
 * receivers and back. Time is virtual, so the same seed gives the same numbers everywhere.
 */
#ifndef CC_SIM_NETWORK_H
#define CC_SIM_NETWORK_H

#include "common/event_heap.h"

#include "flow.h"

#define SIM_FRAME_BYTES 1514 /* what a segment takes of the bottleneck */

struct sim_path {
	u64 rate_bps;
	u64 rtt_ns; /* base RTT */
	u64 buffer_bytes;
	u64 mark_bytes; /* with more queued, segments of flows that need ECN are marked; 0: none */
	u64 loss_ppm;	/* segments that are lost at random, before the bottleneck */
};

struct sim_network {
	struct sim_path path;
	struct sim_flow **flows;
	u32 flow_count;
	struct event_heap events;
	u64 now_ns;
	u64 idle_from_ns; /* when the bottleneck has sent all that it holds */
	uint64_t prng;
	/* Since the warm-up */
	u64 drops, marks, departed_bytes;
	double queue_integral; /* bytes x ns, at departures */
	u64 measured_from_ns;
};

int network_init(struct sim_network *network, const struct sim_path *path, u64 seed,
		 struct sim_flow **flows, u32 count);
void network_free(struct sim_network *network);

/* Let everything happen until a time. */
void network_run(struct sim_network *network, u64 until_ns);
void network_forget(struct sim_network *network);
u64 network_queue_bytes(const struct sim_network *network);

#endif
