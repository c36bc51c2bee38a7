/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP sender of the simulator, with as much of Linux's TCP as a CCA sees: windows,
 * pacing, delivery-rate samples (net/ipv4/tcp_rate.c), losses found by RACK, timeouts.
 */
#ifndef CC_SIM_FLOW_H
#define CC_SIM_FLOW_H

#include "../cc.h"

#define SIM_MSS 1448
#define SIM_WINDOW 65536 /* segments that a flow can have outstanding, twice */

/* What a sender remembers of a segment's last transmission. */
struct sim_segment {
	u64 sent_us;
	u64 first_sent_us; /* of the sample that its acknowledgement ends */
	u64 prior_us;	   /* when what was delivered before it left had been delivered */
	u32 delivered;	   /* until it left */
	u32 delivered_ce;  /* and marked */
	u32 order;	   /* of transmissions */
	bool sacked, lost, retransmitted, app_limited;
};

/* Segments in the order in which they were lost, to be sent again. */
struct sim_lost_queue {
	u32 head, tail;
	u32 sequence[SIM_WINDOW];
};

/* What is on its way back to the sender. */
struct sim_ack {
	u64 at_ns;
	u32 sequence;	/* of the segment that caused it */
	u32 cumulative; /* the first that is missing */
	bool ce;	/* the segment was marked */
};

struct sim_acks {
	u32 head, tail;
	struct sim_ack ack[SIM_WINDOW];
};

struct sim_flow {
	struct tcp_sock tp; /* first: a CCA's struct sock is its beginning */
	const struct tcp_congestion_ops *ops;
	struct sim_segment segment[SIM_WINDOW];
	u32 sent_sequence[SIM_WINDOW]; /* by order of transmission */
	struct sim_lost_queue lost_queue;
	struct sim_acks acks;
	u32 next_order;	   /* of the next transmission */
	u32 checked_order; /* all transmissions before it are acknowledged or known to be lost */
	u32 newest_order;  /* the latest transmission that is acknowledged */
	u32 recovery_end;
	u32 usage_end; /* the window's use is judged when this is acknowledged */
	bool was_limited;
	u64 first_sent_us;
	u64 next_send_ns; /* by pacing */
	u64 last_ack_ns;
	/* The receiver */
	u32 expected;
	bool received[SIM_WINDOW];
	/* Since the warm-up */
	u64 segments_received, segments_sent, segments_lost, rtt_sum_us, rtt_count;
};

/* The network, as a flow sees it: takes a segment that leaves now. */
typedef void (*sim_transmit)(void *network, struct sim_flow *flow, u32 sequence);

void flow_init(struct sim_flow *flow, const struct tcp_congestion_ops *ops);
void flow_start(struct sim_flow *flow, u64 now_ns);

/* Send what window and pacing allow now. */
void flow_send(struct sim_flow *flow, u64 now_ns, sim_transmit transmit, void *network);

/* When pacing allows the next segment; UINT64_MAX where no pacing holds it. */
u64 flow_next_send_ns(const struct sim_flow *flow, u64 now_ns);

/* The receiver has a segment; returns the first that is missing. */
u32 flow_receive(struct sim_flow *flow, u32 sequence);

void flow_acknowledge(struct sim_flow *flow, u64 now_ns, const struct sim_ack *ack);

/* When a timeout is due; UINT64_MAX where nothing is outstanding. */
u64 flow_timeout_ns(const struct sim_flow *flow);
void flow_time_out(struct sim_flow *flow, u64 now_ns);

/* What was counted until now was the warm-up. */
void flow_forget(struct sim_flow *flow);

#endif
