/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows that an application limits: what each writes, and when. All their times count from the
 * flow's planned start, so that they are exact where the clock is.
 */
#ifndef FLOWS_SENDER_APPLICATIONS_H
#define FLOWS_SENDER_APPLICATIONS_H

#include "common/event_heap.h"
#include "datagram.h"
#include "player.h"
#include "sender_flow.h"

/* The flow of an application. */
struct application_flow {
	struct applications *all;
	struct sender_flow *flow;
	size_t number;	     /* in the list */
	int64_t start_ns;    /* planned, CLOCK_MONOTONIC */
	uint64_t steps;	     /* writes of a rate, and changes of on and off, so far */
	uint64_t owed_bytes; /* not yet taken by the socket */
	struct pacing pacing;
	uint32_t next_seq;
	struct player player;
	bool is_fetching; /* a segment is under way: */
	struct segment_record segment;
};

struct applications {
	struct sender_flows *flows;
	struct application_flow *list;
	size_t count;
	struct event_heap due; /* by the number in `list` */
	struct record_file segments;
	struct record_file datagrams;
};

#define APPLICATIONS_CLOSED                                                                        \
	((struct applications){.segments = RECORD_FILE_CLOSED, .datagrams = RECORD_FILE_CLOSED})

/* The applications of all flows that have one. Close them in any case. */
int applications_open(struct applications *all, struct sender_flows *flows);
void applications_close(struct applications *all);

/* A flow's time has come. */
int applications_start(struct applications *all, struct sender_flow *flow, int64_t now_ns);

/* When one of them has to do something next; NEVER if that is not known. */
int64_t applications_next_ns(const struct applications *all);

/* Do what is due, a few at a time. */
int applications_due(struct applications *all, int64_t now_ns);

/* All flows have ended: write what is unfinished, and the files to their end. */
int applications_finish(struct applications *all);

/*
 * For the kinds of applications: be called at a time; write what the socket takes of what is owed,
 * and be told when it takes more (returns 1: all is written; 0: not yet; -1: failed).
 */
void application_call_at(struct application_flow *app, int64_t at_ns);
int application_supply(struct application_flow *app, int64_t now_ns);

/* Video (sender_video.c). */
int video_start(struct application_flow *app, int64_t now_ns);
int video_due(struct application_flow *app, int64_t now_ns);
int video_finish(struct application_flow *app);

/* Datagrams (sender_media.c). */
int media_due(struct application_flow *app, int64_t now_ns);

#endif
