/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A train: frames of one flow that a Linux router's queue holds as one packet, because GRO has
 * merged them on their way in or because the sender's TSO packet was never taken apart (virtual
 * machines). That queue takes such a packet or drops it, whole.
 *
 * Frames are of one train where they are adjacent and arrive back to back, which means
 *   - at one instant: a sender's TSO packet becomes frames at one instant of virtual time; on a
 *     clock they come within `instant_ns` and one poll of the wire, and GRO likewise ends its
 *     packets with each poll (NAPI);
 *   - of one flow, data in sequence, with the same TCP flags;
 *   - none but the last with PSH or FIN, which Linux senders have set at the end of every
 *     TSO packet since 5.4, or with less data than the first;
 *   - 64 KiB at most.
 * These are the rules of tcp_gro_receive() and skb_gro_receive() in Linux 5.4 to 6.12, but for two
 * that a flow of ours does not break within a TSO packet: one acknowledgement number and the same
 * TCP options.
 */
#ifndef NASHBED_TRAIN_H
#define NASHBED_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lane_config.h"

/* With full-sized frames 64 KiB are 45 of them: only smaller ones can reach this. */
#define TRAIN_PACKETS 64u

/* What a frame carries. Other than TCP has no flags, and makes no trains. */
struct segment {
	uint32_t flow;
	uint32_t seq;
	uint32_t payload_bytes;
	uint8_t tcp_flags;
};

struct train {
	struct queue_packet packets[TRAIN_PACKETS];
	uint32_t n;
	uint64_t arrival_ns; /* the first frame's, and so all of theirs */
	uint64_t instant_ns; /* others may arrive by so much later */
	struct segment first;
	uint32_t next_seq;
	uint32_t merged_bytes; /* as one frame: the headers once */
	bool has_ended;	       /* nothing can follow */
};

/* Whether the packet is the next of this train. An empty train has no next. */
bool train_continues(const struct train *train, const struct queue_packet *packet,
		     const struct segment *segment, uint64_t arrival_ns);

/* Begin a train, or add its next packet. */
void train_add(struct train *train, const struct queue_packet *packet,
	       const struct segment *segment, uint64_t arrival_ns);

#endif
