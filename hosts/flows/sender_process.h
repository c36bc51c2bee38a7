/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes: flows that end together. With control connections each is an iperf3 process, whose
 * flows start together, too; without them all flows are one process.
 */
#ifndef FLOWS_SENDER_PROCESS_H
#define FLOWS_SENDER_PROCESS_H

#include "sender_flow.h"

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

struct process {
	struct watch watch; /* the control connection */
	struct sender_flows *all;
	size_t number;
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

struct processes {
	struct sender_flows *all;
	struct sender_flow **by_process;
	struct process list[PROCESSES_MAX];
	size_t count;
	int64_t end_resume_ns;	     /* no flow is ended before */
	int64_t connect_deadline_ns; /* of streams; NEVER: none are being connected */
};

/* Assign the flows to their processes. */
int processes_form(struct processes *p, struct sender_flows *all);
void processes_free(struct processes *p);

/* Every process dials its server; the rest of iperf3's start follows from the answers. */
int processes_dial(struct processes *p, int64_t now_ns);

/* When streams are to be connected at the latest; NEVER where none are being connected. */
int64_t processes_connect_deadline_ns(const struct processes *p);

/* When flows are to be ended next; NEVER if that is not known. */
int64_t processes_next_end_ns(const struct processes *p);

/* End the flows whose time has come, a few at a time. */
int processes_end_flows(struct processes *p, int64_t now_ns);

/* End what is left, at once. */
int processes_end_all(struct processes *p);

#endif
