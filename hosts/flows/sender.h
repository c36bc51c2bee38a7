/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's role. Its phases: connect every flow, say so, wait for t0, transmit until the end,
 * report. One thread does everything, so nothing here is shared.
 */
#ifndef FLOWS_SENDER_H
#define FLOWS_SENDER_H

#include "common/record_file.h"
#include "common/shared.h"
#include "grid.h"
#include "session.h"

struct sender;

enum sender_flow_state {
	FLOW_IDLE, /* not connected yet */
	FLOW_CONNECTED,
	FLOW_RUNNING,
	FLOW_ENDED,
};

struct sender_flow {
	struct watch watch;
	struct sender *sender;
	const struct flow_config *config;
	enum sender_flow_state state;
	char cc_applied[CC_NAME_BYTES];
	bool is_bbr;
	int64_t connecting_ns; /* CLOCK_MONOTONIC; 0: did not happen */
	int64_t connected_ns;
	int64_t started_ns;
	int64_t ended_ns;
	uint64_t acked_by_handshake; /* the kernel counts the SYN as an acknowledged byte */
	uint32_t min_rtt_us;	     /* over all samples; UINT32_MAX: none */
	struct flow_sample last;
	int error; /* the errno that broke the connection, or 0 */
};

struct sender {
	struct session session;
	unsigned int unsent_bytes; /* TCP_NOTSENT_LOWAT of every flow */
	struct sender_flow *flows;
	size_t flow_count;

	struct {
		int64_t deadline_ns;
		size_t next;
		size_t pending;
		size_t done;
	} connect;

	struct {
		struct sender_flow **order; /* by start time */
		size_t next;
	} start;

	struct {
		uint64_t tick;
		size_t next; /* flow_count: no sampling is under way */
	} sampling;

	struct {
		bool is_tick; /* the end is a sampling tick too */
		uint64_t tick;
		size_t next;	   /* flow to end */
		int64_t resume_ns; /* 0: the end has not come yet */
	} end;

	struct record_file samples;
	struct grid grid;
	struct lateness lateness;
	int64_t end_ns;
	size_t ended;
	size_t lost;
};

/* The whole role. Returns the exit status, or -1 with the failure set. */
int sender_run(const struct config *config, struct failure *failure);

/* Phases, in order. Each returns 0 also when a signal ended it. */
int sender_connect(struct sender *sender);
int sender_wait_for_t0(struct sender *sender);
int sender_transmit(struct sender *sender);

int sender_report_ready(const struct sender *sender);
int sender_report_end(const struct sender *sender);

/* Read the flow's TCP state into flow->last. */
int sender_flow_sample(struct sender_flow *flow);

#endif
