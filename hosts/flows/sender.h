/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's role. Its phases: open every socket, connect, say so, wait for t0, transmit until the
 * end, report. (iperf3 processes connect after t0.) One thread does everything, so nothing here is shared.
 */
#ifndef FLOWS_SENDER_H
#define FLOWS_SENDER_H

#include "common/record_file.h"
#include "common/shared.h"
#include "control_state.h"
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
	const struct control_state *state_of_cc;
	int64_t connecting_ns; /* CLOCK_MONOTONIC; 0: did not happen */
	int64_t connected_ns;
	int64_t started_ns;
	int64_t ended_ns;
	uint64_t acked_by_handshake; /* the kernel counts the SYN as an acknowledged byte */
	uint32_t min_rtt_us;	     /* over all samples; UINT32_MAX: none */
	struct flow_sample last;
	int error; /* the errno that broke the connection, or 0 */
};

/* How far an iperf3 process is; each step but the first and the last waits for its server. */
enum process_step {
	PROCESS_IDLE,
	PROCESS_DIALS, /* its control connection */
	PROCESS_AWAITS_PARAM_EXCHANGE,
	PROCESS_AWAITS_CREATE_STREAMS,
	PROCESS_CONNECTS, /* its streams, one after the other */
	PROCESS_AWAITS_TEST_START,
	PROCESS_AWAITS_TEST_RUNNING,
	PROCESS_RUNS,
};

/*
 * Flows that end together. With control connections each is an iperf3 process, and they start
 * together, too; without them all flows are one process.
 */
struct process {
	struct watch watch; /* the control connection */
	struct sender *sender;
	const struct control_config *control; /* NULL: flows start at times of their own */
	enum process_step step;
	struct sender_flow **flows;
	size_t flow_count;
	size_t connected;
	int64_t end_ns; /* NEVER until it is known */
	bool ends_at_tick;
	uint64_t end_tick; /* the end is this sampling tick, too */
	size_t ended;
};

struct sender {
	struct session session;
	unsigned int unsent_bytes; /* TCP_NOTSENT_LOWAT of every flow */
	struct control_states states;
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

	struct sender_flow **by_process;
	struct process processes[PROCESSES_MAX];
	size_t process_count;
	int64_t end_resume_ns; /* no flow is ended before */

	struct record_file samples;
	struct grid grid;
	struct lateness lateness;
	size_t ended;
	size_t lost;
};

/* The whole role. Returns the exit status, or -1 with the failure set. */
int sender_run(const struct config *config, struct failure *failure);

/* Phases, in order. Each returns 0 also when a signal ended it. */
int sender_connect(struct sender *sender);
int sender_wait_for_t0(struct sender *sender);
int sender_transmit(struct sender *sender);

/* Assign the flows to their processes. */
int sender_form_processes(struct sender *sender);
void sender_free_processes(struct sender *sender);

/* Open every flow's socket. */
int sender_open_sockets(struct sender *sender);

/* Begin to connect a flow; answered is called when the other side, or nobody, has answered. */
int sender_connect_flow(struct sender_flow *flow, int64_t now_ns,
			int (*answered)(struct watch *watch, uint32_t events, int64_t now_ns));

/* What an answer means: 0 and the flow is connected, or -1. */
int sender_flow_answered(struct sender_flow *flow, uint32_t events, int64_t now_ns);

/* The first flow that is not connected has waited for too long. */
int sender_connect_too_late(const struct sender *sender);

/* Begin to send. */
int sender_start_flow(struct sender_flow *flow);

/* Write the flow's last sample as that of a tick. */
int sender_record_sample(struct sender_flow *flow, uint64_t tick);

/* Every process dials its server; what follows, follows from the answers. */
int sender_dial_servers(struct sender *sender, int64_t now_ns);

/* When flows are to be ended next; NEVER if that is not known. */
int64_t sender_next_end_ns(const struct sender *sender);

/* End the flows whose time has come, a few at a time. */
int sender_end_flows(struct sender *sender, int64_t now_ns);

/* End what is left, at once. */
int sender_end_all(struct sender *sender);

/* The connection is gone. */
int sender_lose_flow(struct sender_flow *flow, int error, int64_t now_ns);

int sender_report_ready(const struct sender *sender);
int sender_report_end(const struct sender *sender);

/* Read the flow's TCP state into flow->last. */
int sender_flow_sample(struct sender_flow *flow);

#endif
