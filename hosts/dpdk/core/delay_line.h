/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The delay line: base RTT per flow group, half on the way out and half on the
 * way back, random loss on the way out, and what hosts take to process a frame. Time is an argument.
 *
 * A path is one direction of one group of one lane. Packets of one direction and equal
 * delay come out nearly in the order in which they go in, so their paths share a queue that is
 * kept in the order of due times, and only the queues' heads need ordering.
 *
 * A path that changes (impairment.h) has a queue of its own, in which nothing overtakes: a packet is
 * due no sooner than the one before it. What is to be overtaken waits in a second one.
 */
#ifndef NASHBED_DELAY_LINE_H
#define NASHBED_DELAY_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/event_heap.h"
#include "fifo.h"
#include "impairment.h"

#define DELAY_LINE_FIFOS 512u
#define LOSS_CERTAIN_PPB UINT32_C(1000000000)

/* What a path does to its packets. */
struct delay_settings {
	uint64_t delay_ns;
	uint64_t jitter_ns; /* each packet takes up to as long more, at random, in order */
	uint32_t loss_ppb;
	uint64_t seed; /* of the sequences of loss and jitter */
};

struct delay_path {
	uint32_t direction;  /* paths of different directions share no queue */
	uint32_t fifo;	     /* DELAY_NONE: not configured, no delay */
	uint32_t generation; /* packets of an older one are discarded */
	uint32_t loss_ppb;
	struct impairment *impairment; /* NULL: the delay is constant */
	uint64_t loss_state;
	uint64_t jitter_ns;
	uint64_t jitter_state;
	uint64_t instant_ns; /* when the last packet came; EVENT_NEVER: none did */
	uint64_t extra_ns;   /* what it took more */
	uint64_t last_due_ns;
	uint64_t lost_packets;
	uint64_t waiting_packets;
};

struct delay_fifo {
	uint64_t delay_ns;
	bool is_own; /* of one path */
	uint32_t direction;
	uint32_t users;
	struct fifo queue; /* of struct delayed, by due time */
};

struct delayed {
	void *handle;
	uint64_t due_ns;
	uint32_t path;
	uint32_t generation;
};

struct delay_line {
	uint32_t n_paths;
	struct delay_path *paths;
	struct delay_fifo fifos[DELAY_LINE_FIFOS];
	struct event_heap due;
};

enum delay_verdict {
	DELAY_TAKEN,
	DELAY_LOST, /* random loss as configured, or no memory: the packet is still the caller's */
};

/* 0 or -ENOMEM. */
int delay_line_init(struct delay_line *line, uint32_t n_paths);
void delay_line_free(struct delay_line *line);

/* Set what a path does; its sequences begin anew. 0, or -ENOSPC when over 512
 * different delays are in use, those of the two directions counted apart.
 */
int delay_line_configure(struct delay_line *line, uint32_t path,
			 const struct delay_settings *settings);

/* What a path does besides, once it is configured; what was before is forgotten. 0, -EINVAL,
 * -ENOSPC as above, -ENOMEM.
 */
int delay_line_impair(struct delay_line *line, uint32_t path,
		      const struct impairment_settings *settings);

/* The changes of a path count from here on. */
void delay_line_begin(struct delay_line *line, uint32_t path, uint64_t t0_ns);

/* Back to no delay and no loss; what waits is discarded as it comes out. */
void delay_line_clear(struct delay_line *line, uint32_t path);

/* A packet that arrived at a time; it is due after its path's delay, less what is taken off. That
 * may be in the past.
 */
enum delay_verdict delay_line_put(struct delay_line *line, uint32_t path, void *handle,
				  uint64_t arrival_ns, uint64_t less_ns);

/* The next packet due by now. *stale: its path was cleared since, discard it. */
bool delay_line_get(struct delay_line *line, uint64_t now_ns, struct delayed *out, bool *stale);

static inline uint64_t
delay_line_next_event(const struct delay_line *line)
{
	return event_heap_next_ns(&line->due);
}

#endif
