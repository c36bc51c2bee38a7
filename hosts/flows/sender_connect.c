/* SPDX-License-Identifier: Apache-2.0 */
/* Opens all sockets, then connects them, a window at a time, before a deadline. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "sender.h"
#include "tcp_sample.h"
#include "tcp_socket.h"

/* Handshakes under way at once: no burst of SYNs that overflows a short bottleneck queue. */
#define PENDING_MAX 128

static int
connect_failed(const struct sender_flow *flow, int error)
{
	char name[FLOW_NAME_BYTES];

	return failure_set(flow->sender->session.failure, EXIT_STATUS_HOST,
			   "%s: cannot connect: %s%s", flow_name(flow->config, name),
			   strerror(error),
			   error == ECONNREFUSED ? "; is the sink listening there?" : "");
}

/* Between the handshake and the start nothing may happen to a flow. */
static int
broke_before_start(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);
	int error = tcp_socket_error(watch->fd);
	char name[FLOW_NAME_BYTES];

	(void)events;
	(void)now_ns;
	return failure_set(flow->sender->session.failure, EXIT_STATUS_HOST,
			   "%s: connection lost before its start: %s",
			   flow_name(flow->config, name),
			   error != 0 ? strerror(error) : "closed by the peer");
}

static int
read_cc(struct sender_flow *flow)
{
	char name[FLOW_NAME_BYTES];

	if (tcp_socket_read_cc(flow->watch.fd, flow->cc_applied) == 0)
		return 0;
	return failure_set(flow->sender->session.failure, EXIT_STATUS_INTERNAL,
			   "%s: cannot read TCP_CONGESTION back: %s", flow_name(flow->config, name),
			   strerror(errno));
}

static int
note_connected(struct sender_flow *flow, int64_t now_ns)
{
	flow->state = FLOW_CONNECTED;
	flow->connected_ns = now_ns;
	if (read_cc(flow) < 0)
		return -1;
	flow->state_of_cc =
		control_states_find(&flow->sender->states, flow->watch.fd, flow->cc_applied);
	if (sender_flow_sample(flow) < 0)
		return -1;
	flow->acked_by_handshake = flow->last.bytes_acked;
	flow->last.bytes_acked = 0;

	flow->watch.ready = broke_before_start;
	return loop_change(&flow->sender->session.loop, &flow->watch, EPOLLRDHUP);
}

static int connect_more(struct sender *sender, int64_t now_ns);

int
sender_flow_answered(struct sender_flow *flow, uint32_t events, int64_t now_ns)
{
	int error = tcp_socket_error(flow->watch.fd);

	if (error != 0 || (events & (EPOLLERR | EPOLLHUP)) != 0)
		return connect_failed(flow, error != 0 ? error : ECONNRESET);
	if (note_connected(flow, now_ns) < 0)
		return -1;
	flow->sender->connect.done++;
	return 0;
}

static int
connect_answered(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);

	if (sender_flow_answered(flow, events, now_ns) < 0)
		return -1;
	flow->sender->connect.pending--;
	return connect_more(flow->sender, now_ns);
}

int
sender_connect_flow(struct sender_flow *flow, int64_t now_ns,
		    int (*answered)(struct watch *watch, uint32_t events, int64_t now_ns))
{
	const struct sockaddr_in *destination = &flow->config->destination;

	flow->connecting_ns = now_ns;
	flow->watch.ready = answered;
	if (connect(flow->watch.fd, (const struct sockaddr *)destination, sizeof(*destination)) <
		    0 &&
	    errno != EINPROGRESS)
		return connect_failed(flow, errno);
	return loop_add(&flow->sender->session.loop, &flow->watch, EPOLLOUT);
}

static int
connect_more(struct sender *sender, int64_t now_ns)
{
	while (sender->connect.pending < PENDING_MAX && sender->connect.next < sender->flow_count) {
		if (sender_connect_flow(&sender->flows[sender->connect.next], now_ns,
					connect_answered) < 0)
			return -1;
		sender->connect.next++;
		sender->connect.pending++;
	}
	return 0;
}

int
sender_open_sockets(struct sender *sender)
{
	for (size_t i = 0; i < sender->flow_count; i++) {
		struct sender_flow *flow = &sender->flows[i];

		flow->watch.fd = tcp_socket_open(flow->config, sender->unsent_bytes,
						 sender->session.failure);
		if (flow->watch.fd < 0 || read_cc(flow) < 0)
			return -1;
	}
	return 0;
}

static int64_t
connect_deadline_ns(const void *owner)
{
	return ((const struct sender *)owner)->connect.deadline_ns;
}

int
sender_connect_too_late(const struct sender *sender)
{
	const struct sender_flow *flow = sender->flows;
	char name[FLOW_NAME_BYTES];

	while (flow->state != FLOW_IDLE)
		flow++;
	return failure_set(sender->session.failure, EXIT_STATUS_HOST,
			   "%s: cannot connect: no answer within %.3f s (%zu of %zu flows are "
			   "connected)",
			   flow_name(flow->config, name),
			   (double)sender->session.config->connect_timeout_ns / SECOND_NS,
			   sender->connect.done, sender->flow_count);
}

static int
connect_too_late(void *owner, int64_t now_ns)
{
	(void)now_ns;
	return sender_connect_too_late(owner);
}

static bool
all_connected(const void *owner)
{
	const struct sender *sender = owner;

	return sender->connect.done == sender->flow_count;
}

int
sender_connect(struct sender *sender)
{
	static const struct agenda agenda = {connect_deadline_ns, connect_too_late, all_connected};
	int64_t now_ns;

	now_ns = clock_now_ns();
	sender->connect.deadline_ns = now_ns + sender->session.config->connect_timeout_ns;
	if (connect_more(sender, now_ns) < 0)
		return -1;
	return loop_run(&sender->session.loop, &agenda, sender);
}
