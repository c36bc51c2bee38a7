/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "train.h"

/* skb_gro_receive(): the merged packet stays below 64 KiB, its Ethernet header aside. */
#define MERGED_BYTES_MAX (65535u + 14u)

enum tcp_flag {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_PSH = 0x08,
	TCP_ACK = 0x10,
	TCP_URG = 0x20,
	TCP_CWR = 0x80,
};

/* Flags with which a segment stays alone, and those which only the last of a train may have. */
#define ALONE_FLAGS (TCP_SYN | TCP_RST | TCP_URG | TCP_CWR)
#define LAST_FLAGS (TCP_FIN | TCP_PSH)

static bool
can_be_merged(const struct segment *segment)
{
	return segment->payload_bytes > 0 && (segment->tcp_flags & TCP_ACK) != 0 &&
	       (segment->tcp_flags & ALONE_FLAGS) == 0;
}

static bool
is_last(const struct train *train, const struct segment *segment)
{
	return !can_be_merged(segment) || (segment->tcp_flags & LAST_FLAGS) != 0 ||
	       segment->payload_bytes < train->first.payload_bytes || train->n == TRAIN_PACKETS;
}

static bool
follows(const struct train *train, const struct segment *segment)
{
	return segment->flow == train->first.flow && segment->seq == train->next_seq &&
	       segment->payload_bytes <= train->first.payload_bytes &&
	       (segment->tcp_flags & ~LAST_FLAGS) == train->first.tcp_flags;
}

bool
train_continues(const struct train *train, const struct queue_packet *packet,
		const struct segment *segment, uint64_t arrival_ns)
{
	if (train->n == 0 || train->has_ended || arrival_ns - train->arrival_ns > train->instant_ns)
		return false;
	return train->packets[0].lane == packet->lane && can_be_merged(segment) &&
	       follows(train, segment) &&
	       train->merged_bytes + segment->payload_bytes <= MERGED_BYTES_MAX;
}

void
train_add(struct train *train, const struct queue_packet *packet, const struct segment *segment,
	  uint64_t arrival_ns)
{
	if (train->n == 0) {
		train->arrival_ns = arrival_ns;
		train->first = *segment;
		train->merged_bytes = packet->bytes;
	} else {
		train->merged_bytes += segment->payload_bytes;
	}
	train->packets[train->n++] = *packet;
	train->next_seq = segment->seq + segment->payload_bytes;
	train->has_ended = is_last(train, segment);
}
