/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process starts its flows as iperf3 does: over its control connection it agrees with its server
 * on a test, connects its streams one after the other, and sends when the server has seen them
 * all. So it starts the later the more streams it has, and the more packets of others are in the
 * queue meanwhile: SYNs and cookies wait there like any other packet.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "iperf3.h"
#include "sender.h"
#include "tcp_socket.h"

static int
process_failed(const struct process *process, const char *problem)
{
	return failure_set(process->sender->session.failure, EXIT_STATUS_HOST,
			   "control connection of process %td: %s",
			   process - process->sender->processes, problem);
}

/* So few bytes always fit into an empty send buffer. */
static int
say(const struct process *process, int fd, const void *bytes, size_t count)
{
	return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)count ?
		       0 :
		       process_failed(process, strerror(errno));
}

static int
send_parameters(const struct process *process)
{
	const struct config *config = process->sender->session.config;
	char message[IPERF3_LENGTH_BYTES + IPERF3_PARAMETERS_MAX];
	int count = snprintf(message + IPERF3_LENGTH_BYTES, IPERF3_PARAMETERS_MAX,
			     "{\"tcp\":true,\"omit\":0,\"time\":%lld,\"parallel\":%zu,"
			     "\"len\":131072,\"pacing_timer\":1000,\"client_version\":\"3.9\"}",
			     (long long)(config->duration_ns / SECOND_NS), process->flow_count);
	uint32_t length = htonl((uint32_t)count);

	memcpy(message, &length, sizeof(length));
	return say(process, process->watch.fd, message, IPERF3_LENGTH_BYTES + (size_t)count);
}

static int connect_next(struct process *process, int64_t now_ns);

static int
stream_answered(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);
	struct process *process = &flow->sender->processes[flow->config->process];

	if (sender_flow_answered(flow, events, now_ns) < 0 ||
	    say(process, flow->watch.fd, IPERF3_COOKIE, IPERF3_COOKIE_BYTES) < 0)
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
	return sender_connect_flow(process->flows[process->connected], now_ns, stream_answered);
}

static int
run_test(struct process *process, int64_t now_ns)
{
	process->step = PROCESS_RUNS;
	process->end_ns = now_ns + process->sender->session.config->duration_ns;
	for (size_t i = 0; i < process->flow_count; i++)
		if (sender_start_flow(process->flows[i]) < 0)
			return -1;
	return 0;
}

static int
server_said(struct process *process, unsigned char state, int64_t now_ns)
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
	return process_failed(process, "the sink said what was not its turn");
}

static int
control_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct process *process = container_of(watch, struct process, watch);
	unsigned char states[8];
	ssize_t count = recv(watch->fd, states, sizeof(states), MSG_DONTWAIT);

	(void)events;
	if (count < 0)
		return errno == EAGAIN || errno == EINTR ? 0 :
							   process_failed(process, strerror(errno));
	if (count == 0)
		return process_failed(process, "closed by the sink");
	for (ssize_t i = 0; i < count; i++)
		if (server_said(process, states[i], now_ns) < 0)
			return -1;
	return 0;
}

static int
control_answered(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct process *process = container_of(watch, struct process, watch);
	int error = tcp_socket_error(watch->fd);

	(void)now_ns;
	if (error != 0 || (events & (EPOLLERR | EPOLLHUP)) != 0)
		return process_failed(process, strerror(error != 0 ? error : ECONNRESET));
	process->step = PROCESS_AWAITS_PARAM_EXCHANGE;
	process->watch.ready = control_readable;
	if (say(process, watch->fd, IPERF3_COOKIE, IPERF3_COOKIE_BYTES) < 0)
		return -1;
	return loop_change(&process->sender->session.loop, watch, EPOLLIN);
}

static int
dial(struct process *process)
{
	const struct sockaddr_in *server = &process->control->destination;
	struct session *session = &process->sender->session;

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
sender_dial_servers(struct sender *sender, int64_t now_ns)
{
	sender->connect.deadline_ns = now_ns + sender->session.config->connect_timeout_ns;
	for (size_t i = 0; i < sender->process_count; i++)
		if (dial(&sender->processes[i]) < 0)
			return -1;
	return 0;
}
