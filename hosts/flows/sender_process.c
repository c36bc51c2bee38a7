/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process starts its flows as iperf3 does: over its control connection it agrees with its server
 * on a test, connects its streams one after the other, and sends when the server has seen them
 * all. So it starts the later the more streams it has, and the more packets of others are in the
 * queue meanwhile: SYNs and cookies wait there like any other packet.
 */
#include "sender_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "iperf3.h"
#include "tcp_socket.h"

/* Every flow's end is a reset on the wire: thousands at once would overflow the interface's ring,
 * which takes 256 frames.
 */
#define END_FLOWS 64
#define END_PAUSE_NS MILLISECOND_NS

static size_t
process_of(const struct sender_flow *flow)
{
	return flow->all->session.config->n_controls > 0 ? flow->config->process : 0;
}

static void
form_process(struct processes *p, size_t number, struct sender_flow **flows)
{
	const struct config *config = p->all->session.config;
	struct process *process = &p->list[number];

	*process = (struct process){
		.watch.fd = -1,
		.all = p->all,
		.number = number,
		.control = config->n_controls > 0 ? &config->controls[number] : NULL,
		.flows = flows,
		.end_ns = NEVER,
	};
	for (size_t i = 0; i < p->all->count; i++)
		if (process_of(&p->all->flows[i]) == number)
			flows[process->flow_count++] = &p->all->flows[i];
}

int
processes_form(struct processes *p, struct sender_flows *all)
{
	size_t controls = all->session.config->n_controls;
	struct sender_flow **flows = calloc(all->count, sizeof(*flows));

	*p = (struct processes){.all = all, .by_process = flows, .connect_deadline_ns = NEVER};
	if (flows == NULL)
		return failure_set(all->session.failure, EXIT_STATUS_HOST, "out of memory");
	p->count = controls > 0 ? controls : 1;
	for (size_t i = 0; i < p->count; i++) {
		form_process(p, i, flows);
		flows += p->list[i].flow_count;
	}
	return 0;
}

static void
hang_up(struct process *process)
{
	if (process->watch.fd >= 0)
		tcp_socket_abort(process->watch.fd);
	process->watch.fd = -1;
}

void
processes_free(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		hang_up(&p->list[i]);
	free(p->by_process);
}

static int
process_failed(const struct process *process, const char *problem)
{
	return failure_set(process->all->session.failure, EXIT_STATUS_HOST,
			   "control connection of process %zu: %s", process->number, problem);
}

/* So few bytes always fit into an empty send buffer. */
static int
send_all(const struct process *process, int fd, const void *bytes, size_t count)
{
	return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)count ?
		       0 :
		       process_failed(process, strerror(errno));
}

static int
send_parameters(const struct process *process)
{
	const struct config *config = process->all->session.config;
	char message[IPERF3_LENGTH_BYTES + IPERF3_PARAMETERS_MAX];
	int count = snprintf(message + IPERF3_LENGTH_BYTES, IPERF3_PARAMETERS_MAX,
			     "{\"tcp\":true,\"omit\":0,\"time\":%lld,\"parallel\":%zu,"
			     "\"len\":131072,\"pacing_timer\":1000,\"client_version\":\"3.9\"}",
			     (long long)(config->duration_ns / SECOND_NS), process->flow_count);
	uint32_t length = htonl((uint32_t)count);

	memcpy(message, &length, sizeof(length));
	return send_all(process, process->watch.fd, message, IPERF3_LENGTH_BYTES + (size_t)count);
}

static int connect_next(struct process *process, int64_t now_ns);

static int
stream_connected(struct sender_flow *flow, void *owner, int64_t now_ns)
{
	struct process *process = owner;

	if (send_all(process, flow->watch.fd, IPERF3_COOKIE, IPERF3_COOKIE_BYTES) < 0)
		return -1;
	process->connected++;
	return connect_next(process, now_ns);
}

static int
connect_next(struct process *process, int64_t now_ns)
{
	if (process->connected == process->flow_count) {
		process->step = PROCESS_AWAITS_TEST_START;
		return 0;
	}
	process->step = PROCESS_CONNECTS;
	return sender_flow_connect(process->flows[process->connected], now_ns, stream_connected,
				   process);
}

static int
run_test(struct process *process, int64_t now_ns)
{
	process->step = PROCESS_RUNS;
	process->end_ns = now_ns + process->all->session.config->duration_ns;
	for (size_t i = 0; i < process->flow_count; i++)
		if (sender_flow_start(process->flows[i]) < 0)
			return -1;
	return 0;
}

static int
take_state(struct process *process, unsigned char state, int64_t now_ns)
{
	if (process->step == PROCESS_AWAITS_PARAM_EXCHANGE && state == IPERF3_PARAM_EXCHANGE) {
		process->step = PROCESS_AWAITS_CREATE_STREAMS;
		return send_parameters(process);
	}
	if (process->step == PROCESS_AWAITS_CREATE_STREAMS && state == IPERF3_CREATE_STREAMS)
		return connect_next(process, now_ns);
	if (process->step == PROCESS_AWAITS_TEST_START && state == IPERF3_TEST_START) {
		process->step = PROCESS_AWAITS_TEST_RUNNING;
		return 0;
	}
	if (process->step == PROCESS_AWAITS_TEST_RUNNING && state == IPERF3_TEST_RUNNING)
		return run_test(process, now_ns);
	return process_failed(process, "unexpected state from the sink");
}

static int
control_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct process *process = container_of(watch, struct process, watch);
	unsigned char states[8];
	ssize_t count = recv(watch->fd, states, sizeof(states), MSG_DONTWAIT);

	if (count < 0)
		return errno == EAGAIN || errno == EINTR ? 0 :
							   process_failed(process, strerror(errno));
	if (count == 0)
		return process_failed(process, "closed by the sink");
	for (ssize_t i = 0; i < count; i++)
		if (take_state(process, states[i], now_ns) < 0)
			return -1;
	return 0;
}

static int
control_answered(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct process *process = container_of(watch, struct process, watch);
	int error = tcp_socket_error(watch->fd);

	if (error != 0 || (events & (EPOLLERR | EPOLLHUP)) != 0)
		return process_failed(process, strerror(error != 0 ? error : ECONNRESET));
	process->step = PROCESS_AWAITS_PARAM_EXCHANGE;
	process->watch.ready = control_readable;
	if (send_all(process, watch->fd, IPERF3_COOKIE, IPERF3_COOKIE_BYTES) < 0)
		return -1;
	return loop_change(&process->all->session.loop, watch, EPOLLIN);
}

static int
dial(struct process *process)
{
	const struct sockaddr_in *server = &process->control->destination;
	struct session *session = &process->all->session;

	process->watch.fd = tcp_socket_open_control(&process->control->source, session->failure);
	if (process->watch.fd < 0)
		return -1;
	process->step = PROCESS_DIALS;
	process->watch.ready = control_answered;
	if (connect(process->watch.fd, (const struct sockaddr *)server, sizeof(*server)) < 0 &&
	    errno != EINPROGRESS)
		return process_failed(process, strerror(errno));
	return loop_add(&session->loop, &process->watch, EPOLLOUT);
}

int
processes_dial(struct processes *p, int64_t now_ns)
{
	p->connect_deadline_ns = now_ns + p->all->session.config->connect_timeout_ns;
	for (size_t i = 0; i < p->count; i++)
		if (dial(&p->list[i]) < 0)
			return -1;
	return 0;
}

int64_t
processes_connect_deadline_ns(const struct processes *p)
{
	return p->all->connected < p->all->count ? p->connect_deadline_ns : NEVER;
}

static bool
is_over(const struct process *process)
{
	return process->ended == process->flow_count;
}

/* An end that was ordered is all processes'. */
static int64_t
process_end_ns(const struct process *process)
{
	int64_t ordered_ns = process->all->session.end_ns;

	return ordered_ns < process->end_ns ? ordered_ns : process->end_ns;
}

/* The end of the only process may be a tick, too, which is taken for all of its flows. A flow of
 * another process would miss it.
 */
static void
begin_end(struct processes *p, struct process *process, int64_t now_ns)
{
	struct grid *ticks = &p->all->ticks;

	process->ends_at_tick = grid_next_ns(ticks) <= now_ns && p->count == 1;
	if (process->ends_at_tick)
		process->end_tick = grid_take_latest(ticks, now_ns, &p->all->lateness);
}

/* The record of an end at a tick is the flow's last sample, read just before. */
static int
end_flow(const struct process *process, struct sender_flow *flow)
{
	bool was_sampled = sender_flow_is_sampled(flow);

	if (flow->state == FLOW_IDLE && flow->watch.fd < 0)
		sender_flow_skip(flow);
	if (flow->watch.fd < 0)
		return 0;
	if (sender_flow_end(flow, clock_now_ns()) < 0)
		return -1;
	return process->ends_at_tick && was_sampled ? sender_flow_record(flow, process->end_tick) :
						      0;
}

static int
end_some_flows(struct processes *p, struct process *process, int64_t now_ns)
{
	if (process->ended == 0)
		begin_end(p, process, now_ns);
	for (int ended = 0; ended < END_FLOWS && !is_over(process);) {
		struct sender_flow *flow = process->flows[process->ended++];

		ended += flow->watch.fd >= 0;
		if (end_flow(process, flow) < 0)
			return -1;
	}
	if (is_over(process))
		hang_up(process);
	p->end_resume_ns = clock_now_ns() + END_PAUSE_NS;
	return 0;
}

/* The process that ends next; `count` if there is none. */
static size_t
next_to_end(const struct processes *p)
{
	size_t next = p->count;

	for (size_t i = 0; i < p->count; i++)
		if (!is_over(&p->list[i]) &&
		    (next == p->count ||
		     process_end_ns(&p->list[i]) < process_end_ns(&p->list[next])))
			next = i;
	return next;
}

int64_t
processes_next_end_ns(const struct processes *p)
{
	size_t next = next_to_end(p);
	int64_t end_ns = next == p->count ? NEVER : process_end_ns(&p->list[next]);

	return end_ns > p->end_resume_ns ? end_ns : p->end_resume_ns;
}

int
processes_end_flows(struct processes *p, int64_t now_ns)
{
	size_t next = next_to_end(p);

	return next == p->count ? 0 : end_some_flows(p, &p->list[next], now_ns);
}

int
processes_end_all(struct processes *p)
{
	size_t next;

	while ((next = next_to_end(p)) < p->count)
		if (end_some_flows(p, &p->list[next], clock_now_ns()) < 0)
			return -1;
	return 0;
}
