/* SPDX-License-Identifier: Apache-2.0 */
#include "sender_flow.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calls.h"
#include "common/clock.h"
#include "served.h"
#include "tcp_socket.h"
#include "udp_socket.h"

/*
 * Unsent data waiting in the kernel, over all flows and per flow. The kernel asks for more when
 * half of a flow's share is gone: enough that even one flow of 1 Gbit/s runs for 16 ms without
 * us, little enough that thousands of flows do not hold giant send buffers.
 */
#define UNSENT_TOTAL_BYTES (256u << 20)
#define UNSENT_MIN_BYTES (64u << 10)
#define UNSENT_MAX_BYTES (4u << 20)

/*
 * The same of a flow that is to be silent while it is off: what waits in the kernel is still sent
 * then.
 */
#define UNSENT_ON_OFF_BYTES UNSENT_MIN_BYTES

const char sender_flow_zeros[WRITE_BYTES];

static unsigned int
unsent_bytes_per_flow(size_t flow_count)
{
	size_t share = UNSENT_TOTAL_BYTES / flow_count;

	if (share < UNSENT_MIN_BYTES)
		return UNSENT_MIN_BYTES;
	return share > UNSENT_MAX_BYTES ? UNSENT_MAX_BYTES : (unsigned int)share;
}

static int
allocate_flows(struct sender_flows *all, const struct config *config)
{
	all->flows = calloc(config->n_flows, sizeof(*all->flows));
	if (all->flows == NULL)
		return failure_set(all->session.failure, EXIT_STATUS_HOST, "out of memory");

	all->count = config->n_flows;
	for (size_t i = 0; i < all->count; i++)
		all->flows[i] = (struct sender_flow){
			.watch.fd = -1,
			.all = all,
			.config = &config->flows[i],
			.application = config_application(config, &config->flows[i]),
			.min_rtt_us = UINT32_MAX,
		};
	return 0;
}

static int
allocate_rows(struct sender_flows *all)
{
	if (all->session.service < 0)
		return 0;
	all->rows = calloc(all->count, sizeof(*all->rows));
	return all->rows != NULL ?
		       0 :
		       failure_set(all->session.failure, EXIT_STATUS_HOST, "out of memory");
}

int
sender_flows_open(struct sender_flows *all, const struct config *config, struct failure *failure)
{
	*all = (struct sender_flows){.samples = RECORD_FILE_CLOSED};
	for (size_t i = 0; i < config->n_flows; i++)
		all->in_advance += config->flows[i].bytes == 0;
	all->unsent_bytes = unsent_bytes_per_flow(all->in_advance > 0 ? all->in_advance : 1);
	if (session_open(&all->session, config, failure) < 0 || allocate_flows(all, config) < 0 ||
	    allocate_rows(all) < 0 || cca_states_open(&all->states, config, failure) < 0)
		return -1;
	return record_file_open(&all->samples, config->out, FLOW_SAMPLES_FILE, failure);
}

void
sender_flows_close(struct sender_flows *all)
{
	struct failure ignored = {0};

	for (size_t i = 0; i < all->count; i++)
		if (all->flows[i].watch.fd >= 0)
			tcp_socket_abort(all->flows[i].watch.fd);
	record_file_close(&all->samples, &ignored);
	cca_states_close(&all->states);
	free(all->rows);
	free(all->flows);
	session_close(&all->session);
}

bool
sender_flow_is_udp(const struct sender_flow *flow)
{
	return flow->application != NULL && flow->application->kind == KIND_UDP;
}

bool
sender_flow_is_transfer(const struct sender_flow *flow)
{
	return flow->config->bytes > 0;
}

bool
sender_flow_is_sampled(const struct sender_flow *flow)
{
	return flow->state == FLOW_RUNNING && !sender_flow_is_udp(flow);
}

static int
read_cc(struct sender_flow *flow)
{
	char name[FLOW_NAME_BYTES];

	if (tcp_socket_read_cc(flow->watch.fd, flow->cc_applied) == 0)
		return 0;
	return failure_set(flow->all->session.failure, EXIT_STATUS_INTERNAL,
			   "%s: cannot read TCP_CONGESTION back: %s", flow_name(flow->config, name),
			   strerror(errno));
}

static int
open_tcp(struct sender_flow *flow)
{
	bool pauses = flow->application != NULL && flow->application->kind == KIND_ON_OFF;
	unsigned int unsent = pauses ? UNSENT_ON_OFF_BYTES : flow->all->unsent_bytes;
	struct failure *failure = flow->all->session.failure;

	flow->watch.fd = tcp_socket_open(flow->config, unsent, failure);
	if (flow->watch.fd < 0 || (!sender_flow_is_transfer(flow) && read_cc(flow) < 0))
		return -1;
	return flow->config->ecn ? tcp_socket_ask_for_ecn(flow->watch.fd, failure) : 0;
}

/* What a flow of datagrams runs has no name in the kernel: it is said as it was asked for. */
static int
open_udp(struct sender_flow *flow)
{
	memcpy(flow->cc_applied, flow->config->cc, sizeof(flow->cc_applied));
	flow->watch.fd = udp_socket_open(flow->config, flow->all->session.failure);
	return flow->watch.fd < 0 ? -1 : 0;
}

int
sender_flow_open(struct sender_flow *flow)
{
	if ((sender_flow_is_udp(flow) ? open_udp(flow) : open_tcp(flow)) < 0)
		return -1;
	return flow->config->dscp == 0 ? 0 :
					 tcp_socket_set_dscp(flow->watch.fd, flow->config,
							     flow->all->session.failure);
}

int
sender_flows_open_sockets(struct sender_flows *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (!sender_flow_is_transfer(&all->flows[i]) &&
		    sender_flow_open(&all->flows[i]) < 0)
			return -1;
	return 0;
}

static void
finish_sample(struct sender_flow *flow)
{
	flow->last.flow = flow->config->flow;
	flow->last.bytes_acked -= flow->acked_by_handshake;
	if (flow->last.min_rtt_us < flow->min_rtt_us)
		flow->min_rtt_us = flow->last.min_rtt_us;
}

/* Read the flow's TCP state into flow->last. */
static int
read_sample(struct sender_flow *flow)
{
	char name[FLOW_NAME_BYTES];

	if (tcp_sample_read(flow->watch.fd, flow->state_of_cc, &flow->last) < 0)
		return failure_set(flow->all->session.failure, EXIT_STATUS_INTERNAL,
				   "%s: cannot read TCP_INFO", flow_name(flow->config, name));

	finish_sample(flow);
	return 0;
}

static int
connect_failed(const struct sender_flow *flow, int error)
{
	char name[FLOW_NAME_BYTES];

	return failure_set(flow->all->session.failure, EXIT_STATUS_HOST, "%s: cannot connect: %s%s",
			   flow_name(flow->config, name), strerror(error),
			   error == ECONNREFUSED ? "; is the sink listening there?" : "");
}

/* Between the handshake and the start nothing may happen to a flow. */
static int
broke_before_start(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);
	int error = tcp_socket_error(watch->fd);
	char name[FLOW_NAME_BYTES];

	return failure_set(flow->all->session.failure, EXIT_STATUS_HOST,
			   "%s: connection lost before its start: %s",
			   flow_name(flow->config, name),
			   error != 0 ? strerror(error) : "closed by the peer");
}

/* With ECN it has had another CCA until now. */
static int
see_to_cc(struct sender_flow *flow)
{
	if (flow->config->ecn &&
	    tcp_socket_set_cc(flow->watch.fd, flow->config, flow->all->session.failure) < 0)
		return -1;
	return read_cc(flow);
}

void
sender_flow_adopt_plain(struct sender_flow *flow, const struct cca_state *state, int64_t now_ns)
{
	flow->state = FLOW_RUNNING;
	flow->connected_ns = now_ns;
	flow->started_ns = now_ns;
	flow->acked_by_handshake = 1; /* the SYN */
	flow->state_of_cc = state;
}

int
sender_flow_adopt(struct sender_flow *flow, const struct cca_state *state, bool is_known,
		  int64_t now_ns)
{
	sender_flow_adopt_plain(flow, state, now_ns);
	flow->has_ecn = flow->config->ecn && tcp_socket_has_ecn(flow->watch.fd);
	if (see_to_cc(flow) < 0)
		return -1;
	flow->state_of_cc =
		is_known ? state :
			   cca_states_find(&flow->all->states, flow->watch.fd, flow->cc_applied);
	return 0;
}

static int
note_connected(struct sender_flow *flow, int64_t now_ns)
{
	flow->state = FLOW_CONNECTED;
	flow->connected_ns = now_ns;
	flow->all->connected++;
	flow->has_ecn = tcp_socket_has_ecn(flow->watch.fd);
	if (see_to_cc(flow) < 0)
		return -1;
	flow->state_of_cc = cca_states_find(&flow->all->states, flow->watch.fd, flow->cc_applied);
	if (read_sample(flow) < 0)
		return -1;
	flow->acked_by_handshake = flow->last.bytes_acked;
	flow->last.bytes_acked = 0;

	flow->watch.ready = broke_before_start;
	return loop_change(&flow->all->session.loop, &flow->watch, EPOLLRDHUP);
}

/* The other side has answered, or nobody has. */
static int
answered(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);
	int error = tcp_socket_error(watch->fd);

	if (error != 0 || (events & (EPOLLERR | EPOLLHUP)) != 0)
		return connect_failed(flow, error != 0 ? error : ECONNRESET);
	if (note_connected(flow, now_ns) < 0)
		return -1;
	return flow->connected(flow, flow->owner, now_ns);
}

int
sender_flow_connect(struct sender_flow *flow, int64_t now_ns, sender_flow_connected connected,
		    void *owner)
{
	const struct sockaddr_in *destination = &flow->config->destination;

	if (sender_flow_is_udp(flow)) { /* nobody answers */
		flow->state = FLOW_CONNECTED;
		flow->all->connected++;
		return 0;
	}
	flow->connecting_ns = now_ns;
	flow->connected = connected;
	flow->owner = owner;
	flow->watch.ready = answered;
	if (connect(flow->watch.fd, (const struct sockaddr *)destination, sizeof(*destination)) <
		    0 &&
	    errno != EINPROGRESS)
		return connect_failed(flow, errno);
	return loop_add(&flow->all->session.loop, &flow->watch, EPOLLOUT);
}

static void
note_end(struct sender_flow *flow, int64_t now_ns)
{
	flow->watch.fd = -1;
	flow->state = FLOW_ENDED;
	flow->ended_ns = now_ns;
	flow->all->ended++;
}

int
sender_flow_end(struct sender_flow *flow, int64_t now_ns)
{
	int result = sender_flow_is_udp(flow) ? 0 : read_sample(flow);

	served_give_back(flow->all->session.service, flow->watch.fd);
	tcp_socket_abort(flow->watch.fd);
	note_end(flow, now_ns);
	return result;
}

int
sender_flow_finish(struct sender_flow *flow, int64_t now_ns)
{
	struct nashbed_flows_sample row = {.t_ns = now_ns};
	socklen_t length = sizeof(row.info);
	struct calls calls = {0};
	bool done;

	CALLS_ADD(&calls, getsockopt, (uint64_t)flow->watch.fd, IPPROTO_TCP, TCP_INFO,
		  CALL_ARGUMENT(row.info), CALL_ARGUMENT(&length));
	CALLS_ADD(&calls, close, (uint64_t)flow->watch.fd);
	done = calls_make(flow->all->session.service, &calls);
	tcp_sample_take(&row, NULL, &flow->last);
	finish_sample(flow);
	/* The kernel counts the FIN as an acknowledged byte, too. */
	if (flow->last.bytes_acked > flow->config->bytes)
		flow->last.bytes_acked = flow->config->bytes;
	note_end(flow, now_ns);
	return done ? 0 :
		      failure_set(flow->all->session.failure, EXIT_STATUS_INTERNAL,
				  "cannot close a transfer: %s", strerror(calls_error(&calls)));
}

void
sender_flow_skip(struct sender_flow *flow)
{
	note_end(flow, 0);
}

int
sender_flow_lose(struct sender_flow *flow, int error, int64_t now_ns)
{
	flow->error = error != 0 ? error : ECONNRESET;
	flow->all->lost++;
	return sender_flow_end(flow, now_ns);
}

static int
supply(struct sender_flow *flow, int64_t now_ns)
{
	if (send(flow->watch.fd, sender_flow_zeros, sizeof(sender_flow_zeros),
		 MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	    errno == EAGAIN || errno == EINTR)
		return 0;
	return sender_flow_lose(flow, errno, now_ns);
}

static int
wants_data(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);

	if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0)
		return sender_flow_lose(flow, tcp_socket_error(watch->fd), now_ns);
	return supply(flow, now_ns);
}

static void
run(struct sender_flow *flow, int (*ready)(struct watch *, uint32_t, int64_t))
{
	flow->state = FLOW_RUNNING;
	flow->started_ns = clock_now_ns();
	flow->watch.ready = ready;
}

int
sender_flow_send_bulk(struct sender_flow *flow, int64_t now_ns)
{
	if (served_take(flow->all->session.service, flow->watch.fd, NASHBED_FLOWS_SEND))
		return loop_change(&flow->all->session.loop, &flow->watch, EPOLLRDHUP);
	if (loop_change(&flow->all->session.loop, &flow->watch, EPOLLOUT | EPOLLRDHUP) < 0)
		return -1;
	return supply(flow, now_ns);
}

int
sender_flow_pause_bulk(struct sender_flow *flow)
{
	served_give_back(flow->all->session.service, flow->watch.fd);
	return loop_change(&flow->all->session.loop, &flow->watch, EPOLLRDHUP);
}

int
sender_flow_start(struct sender_flow *flow)
{
	run(flow, wants_data);
	return sender_flow_send_bulk(flow, flow->started_ns);
}

int
sender_flow_begin(struct sender_flow *flow,
		  int (*ready)(struct watch *watch, uint32_t events, int64_t now_ns))
{
	run(flow, ready != NULL ? ready : wants_data);
	if (sender_flow_is_udp(flow))
		return 0;
	return loop_change(&flow->all->session.loop, &flow->watch, EPOLLRDHUP);
}

int
sender_flow_record(struct sender_flow *flow, uint64_t tick)
{
	flow->last.tick = (uint32_t)tick;
	return record_file_append(&flow->all->samples, &flow->last, sizeof(flow->last),
				  flow->all->session.failure);
}

int
sender_flow_sample(struct sender_flow *flow, uint64_t tick)
{
	return read_sample(flow) < 0 ? -1 : sender_flow_record(flow, tick);
}

int
sender_flows_sample(struct sender_flows *all, uint64_t tick)
{
	size_t n = 0;

	for (size_t i = 0; i < all->count; i++)
		if (sender_flow_is_sampled(&all->flows[i]))
			all->rows[n++].fd = all->flows[i].watch.fd;
	if (served_sample(all->session.service, all->rows, n) < 0)
		return failure_set(all->session.failure, EXIT_STATUS_INTERNAL, "%s: %s",
				   NASHBED_FLOWS_PATH, strerror(errno));
	n = 0;
	for (size_t i = 0; i < all->count; i++) {
		struct sender_flow *flow = &all->flows[i];

		if (!sender_flow_is_sampled(flow))
			continue;
		tcp_sample_take(&all->rows[n++], flow->state_of_cc, &flow->last);
		finish_sample(flow);
		if (sender_flow_record(flow, tick) < 0)
			return -1;
	}
	return 0;
}
