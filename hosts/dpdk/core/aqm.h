/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The interface of a queue discipline, which decides when it is asked for a packet, as Linux's do:
 * all that one C file in disciplines/, or a user's own, includes. Time is an argument, and every
 * random draw comes from the seed it is given, so that a run repeats to the bit on every machine:
 * no clock, no libc generator, no function of libm whose last bit may differ.
 *
 * What owns the line (traffic_lane.c) keeps the limit: it refuses what does not fit before the
 * discipline sees it, and asks for the next packet at the time when the line is free.
 */
#ifndef NASHBED_AQM_H
#define NASHBED_AQM_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fifo.h"
#include "prng.h"

#define AQM_ABI 2

/* Room for the parameters of any discipline. */
#define AQM_CONFIG_BYTES 256u

/* The ECN field of the IP header (RFC 3168). */
enum ecn {
	ECN_NOT_ECT,
	ECN_ECT1, /* L4S (RFC 9331) */
	ECN_ECT0,
	ECN_CE,
};

/* Why a packet was dropped; stable numbers, which postcards carry. */
enum drop_reason {
	DROP_LIMIT,	  /* the memory is full: what drop-tail does */
	DROP_EARLY,	  /* the discipline's decision */
	DROP_OVERFLOW,	  /* to make room for another queue's packet */
	DROP_QUEUE_LIMIT, /* of several queues: its own limit is reached */
	DROP_THRESHOLD,	  /* of several queues: the policy of their memory (memory.h) */
	DROP_POLICER,
	DROP_REASONS,
};

/* What a traffic manager knows of a packet: an opaque handle, a length, and the intrinsic
 * metadata for egress. Three quarters of a cache line, because every queue copies it.
 */
struct queue_packet {
	void *handle;
	uint64_t enqueue_ns;
	union {
		uint64_t dequeue_ns; /* end of serialisation, or when it was dropped */
		uint64_t units;	     /* until then, the lane's: what it frees of its limit */
	};
	/* Waiting or being sent in the lane at enqueue, without this packet, whatever the limit
	 * counts; 32 bits, as in the postcard.
	 */
	uint32_t queue_bytes;
	/* Of its own queue, where a lane has several, as the limit counts. A discipline looks at its
	 * line instead, whether it has the lane for itself or not.
	 */
	uint32_t own_queue_bytes;
	uint32_t bytes; /* Ethernet frame without FCS */
	uint32_t flow;	/* the same number for the packets of one flow */
	uint16_t lane;
	uint8_t queue; /* of the lane's, before it is enqueued; 0 where there is but one */
	uint8_t ecn;   /* enum ecn, when it arrived */
	bool mark;     /* CE is to be set in it */
	bool dropped;
	uint8_t reason; /* enum drop_reason, of one that was dropped */
};

/* What a discipline knows of its line, and says to it. */
struct aqm_line {
	uint64_t rate_bps;
	uint32_t overhead_bytes; /* serialised with each packet */
	bool counts_sent;	 /* what is being sent counts against the limit */
	uint64_t limit_bytes;	 /* 0: the limit is one of packets */
	uint64_t limit_packets;	 /* 0: the limit is one of bytes */
	/* In the discipline's care: neither what is being sent nor what is being given to it. */
	uint64_t bytes;
	uint64_t packets;
	uint64_t sending_bytes; /* of its packet that is being sent; 0: there is none */
	/* A packet that the discipline had taken is dropped instead of being sent. */
	void (*drop)(struct aqm_line *line, struct queue_packet *packet, enum drop_reason reason,
		     uint64_t now_ns);
};

enum aqm_kind {
	AQM_TIME,	 /* uint64_t, nanoseconds; in JSON with _ns behind its name */
	AQM_BYTES,	 /* uint64_t; with _bytes */
	AQM_PACKETS,	 /* uint64_t */
	AQM_NUMBER,	 /* uint64_t */
	AQM_PROBABILITY, /* double, 0 to 1 */
	AQM_REAL,	 /* double */
	AQM_FLAG,	 /* bool */
};

/* A parameter: a line of a discipline's table, which one without a name ends. */
struct aqm_param {
	const char *name; /* as the RFC and tc have it */
	enum aqm_kind kind;
	size_t offset; /* in the discipline's configuration */
	double first;  /* the value where none is given; below `min`: none, see `check` */
	double min, max;
	const char *help; /* one line */
};

struct aqm_ops {
	uint32_t abi; /* AQM_ABI */
	const char *name;
	const char *help; /* one line: what it is, and its source */
	const struct aqm_param *params;
	size_t config_bytes;
	size_t state_bytes;
	/* It keeps the limit itself: every packet is given to it, whatever waits. */
	bool keeps_limit;
	/* Compute what was left out of a configuration. NULL, or a line for people about what is
	 * wrong with it. May be NULL.
	 */
	const char *(*check)(void *config, const struct aqm_line *line);
	/* A new state, all zeroes until then. Draws come from the seed. 0 or -ENOMEM. */
	int (*init)(void *state, const void *config, const struct aqm_line *line, uint64_t seed);
	/* Give back what the state holds; packets have been taken out before. May be NULL. */
	void (*fini)(void *state);
	/* Take a packet, or refuse it: it may say why in its `reason`. It may set its mark. */
	bool (*enqueue)(void *state, struct aqm_line *line, struct queue_packet *packet,
			uint64_t now_ns);
	/* The packet to be sent from now on; it may set its mark, and drop others before it. False:
	 * none is left. It is also asked when the line becomes free and nothing waits.
	 */
	bool (*dequeue)(void *state, struct aqm_line *line, struct queue_packet *packet,
			uint64_t now_ns);
	/* Drop a packet, or several, that wait: the limit is exceeded. NULL: what does not fit is
	 * refused, as by drop-tail, before the discipline sees it.
	 */
	void (*make_room)(void *state, struct aqm_line *line, uint64_t now_ns);
	/* A packet came that did not fit and is refused; it may say another reason. May be NULL. */
	void (*refused)(void *state, struct aqm_line *line, struct queue_packet *packet,
			uint64_t now_ns);
};

/* A discipline with its parameters, and the seed of its draws. */
struct aqm_setup {
	const struct aqm_ops *ops; /* NULL: droptail_ops */
	uint64_t seed;
	alignas(max_align_t) uint8_t config[AQM_CONFIG_BYTES]; /* with `check` done */
};

/* What a file with a discipline of one's own ends with. */
#define AQM_EXPORT(ops)                                                                            \
	__attribute__((visibility("default"))) const struct aqm_ops *nashbed_aqm(void)             \
	{                                                                                          \
		return &(ops);                                                                     \
	}                                                                                          \
	const struct aqm_ops *nashbed_aqm(void)

/* Set CE instead of dropping; false where that cannot be. What came with CE has it already. */
static inline bool
aqm_mark(struct queue_packet *packet)
{
	packet->mark = packet->ecn == ECN_ECT0 || packet->ecn == ECN_ECT1;
	return packet->ecn != ECN_NOT_ECT;
}

/* A queue of struct queue_packet: fifo_init(&q, sizeof(struct queue_packet)). */
static inline bool
aqm_push(struct fifo *queue, const struct queue_packet *packet)
{
	struct queue_packet *slot = fifo_push(queue);

	if (slot == NULL)
		return false;
	*slot = *packet;
	return true;
}

/* False when it is empty. */
static inline bool
aqm_pop(struct fifo *queue, struct queue_packet *packet)
{
	const struct queue_packet *head = fifo_head(queue);

	if (head == NULL)
		return false;
	*packet = *head;
	fifo_pop(queue);
	return true;
}

/* For a table of functions where a state begins with its only queue: `fini`, and `dequeue` where
 * packets leave in their order.
 */
static inline void
aqm_free_queue(void *state)
{
	fifo_free(state);
}

static inline bool
aqm_first_out(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	return aqm_pop(state, packet);
}

#endif
