/* SPDX-License-Identifier: Apache-2.0 */
/* One listening socket per destination of the flows; matches connections to flows. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "calls.h"
#include "sink.h"
#include "tcp_socket.h"

#define BACKLOG 65535 /* the kernel lowers it to net.core.somaxconn */

static bool
same_address(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return flow_key_address(a) == flow_key_address(b);
}

/* The flow that this connection belongs to, or NULL. */
static struct sink_flow *
find_flow(const struct listener *listener, const struct sockaddr_in *peer)
{
	const struct sink *sink = listener->sink;
	size_t position = flow_index_find(&sink->by_source, flow_key_address(peer));
	struct sink_flow *flow;

	if (position == FLOW_INDEX_NONE)
		return NULL;
	flow = &sink->flows[position];
	return flow->end == NEVER_CONNECTED &&
			       same_address(&flow->config->destination, &listener->address) ?
		       flow :
		       NULL;
}

static int
connection_arrived(struct listener *listener, int fd, const struct sockaddr_in *peer,
		   int64_t now_ns)
{
	struct server *server = sink_find_server(listener->sink, peer, &listener->address);
	struct sink_flow *flow = find_flow(listener, peer);

	if (server != NULL)
		return sink_server_open(server, fd);
	if (flow == NULL) {
		listener->sink->strangers++;
		tcp_socket_abort(fd);
		return 0;
	}
	/* The receiver's part of a CCA that needs ECN is to echo each mark. */
	if (listener->grants_ecn &&
	    tcp_socket_set_cc(fd, flow->config, listener->sink->session.failure) < 0)
		return -1;
	return sink_flow_open(flow, fd, now_ns);
}

static bool
is_transient(int error)
{
	return error == EAGAIN || error == EINTR || error == ECONNABORTED || error == EPROTO;
}

/* A transfer's connection and its first data, at once. */
static int
take_transfer(struct listener *listener, int64_t now_ns)
{
	struct session *session = &listener->sink->session;
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	struct sink_flow *flow;
	struct calls calls = {0};
	int accepted, was_read, fd;

	accepted = CALLS_ADD(&calls, accept4, (uint64_t)listener->watch.fd, CALL_ARGUMENT(&peer),
			     CALL_ARGUMENT(&length), SOCK_NONBLOCK | SOCK_CLOEXEC);
	was_read = CALLS_ADD(&calls, recvfrom, 0, 0, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);
	calls_fd_of(&calls, 0, accepted);
	calls_make(session->service, &calls);
	fd = (int)calls_result(&calls, accepted);
	if (fd < 0)
		return is_transient(-fd) ?
			       0 :
			       failure_set(session->failure, EXIT_STATUS_HOST,
					   "cannot accept a connection: %s", strerror(-fd));
	flow = find_flow(listener, &peer);
	if (flow == NULL) {
		listener->sink->strangers++;
		tcp_socket_abort(fd);
		return 0;
	}
	return sink_transfer_open(
		flow, fd,
		calls_result(&calls, was_read) > 0 ? (uint64_t)calls_result(&calls, was_read) : 0,
		now_ns);
}

static int
listener_ready(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct listener *listener = container_of(watch, struct listener, watch);
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	int fd;

	if (listener->has_data)
		return take_transfer(listener, now_ns);
	fd = accept4(watch->fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		return connection_arrived(listener, fd, &peer, now_ns);
	return is_transient(errno) ? 0 :
				     failure_set(listener->sink->session.failure, EXIT_STATUS_HOST,
						 "cannot accept a connection: %s", strerror(errno));
}

static int
open_listening_socket(const struct sockaddr_in *address, struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char text[INET_ADDRSTRLEN];
	const int on = 1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;

	failure_set(failure, EXIT_STATUS_HOST, "cannot listen on %s:%u: %s%s",
		    inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)),
		    ntohs(address->sin_port), strerror(errno),
		    errno == EADDRNOTAVAIL ? "; no interface here has this address" : "");
	if (fd >= 0)
		tcp_socket_abort(fd);
	return -1;
}

static bool
any_asks_for_ecn(const struct sink *sink, const struct sockaddr_in *address)
{
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].config->ecn &&
		    same_address(&sink->flows[i].config->destination, address))
			return true;
	return false;
}

static bool
all_are_transfers(const struct sink *sink, const struct sockaddr_in *address)
{
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].config->bytes == 0 &&
		    same_address(&sink->flows[i].config->destination, address))
			return false;
	return sink->server_count == 0;
}

static int
listen_on(struct sink *sink, const struct sockaddr_in *address)
{
	struct listener *listener = &sink->listeners[sink->listener_count];

	*listener = (struct listener){
		.watch = {.fd = open_listening_socket(address, sink->session.failure),
			  .ready = listener_ready},
		.sink = sink,
		.address = *address,
		.grants_ecn = any_asks_for_ecn(sink, address),
	};
	if (listener->watch.fd < 0)
		return -1;
	sink->listener_count++;
	listener->has_data = !listener->grants_ecn && all_are_transfers(sink, address);
	if (listener->has_data)
		tcp_socket_accept_with_data(listener->watch.fd);
	if (listener->grants_ecn &&
	    tcp_socket_ask_for_ecn(listener->watch.fd, sink->session.failure) < 0)
		return -1;
	return loop_add(&sink->session.loop, &listener->watch, EPOLLIN);
}

static int
compare_destinations(const void *left, const void *right)
{
	uint64_t a = flow_key_address(left);
	uint64_t b = flow_key_address(right);

	return (a > b) - (a < b);
}

static int
listen_on_each(struct sink *sink, const struct sockaddr_in *sorted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((i == 0 || !same_address(&sorted[i], &sorted[i - 1])) &&
		    listen_on(sink, &sorted[i]) < 0)
			return -1;
	return 0;
}

int
sink_listen(struct sink *sink)
{
	size_t count = sink->flow_count + sink->server_count;
	struct sockaddr_in *destinations = calloc(count, sizeof(*destinations));
	int result;

	sink->listeners = calloc(count, sizeof(*sink->listeners));
	if (destinations == NULL || sink->listeners == NULL) {
		free(destinations);
		return failure_set(sink->session.failure, EXIT_STATUS_HOST, "out of memory");
	}
	count = 0;
	for (size_t i = 0; i < sink->flow_count; i++)
		if (!config_is_udp(sink->session.config, sink->flows[i].config))
			destinations[count++] = sink->flows[i].config->destination;
	for (size_t i = 0; i < sink->server_count; i++)
		destinations[count++] = sink->servers[i].control->destination;
	qsort(destinations, count, sizeof(*destinations), compare_destinations);
	result = listen_on_each(sink, destinations, count);
	free(destinations);
	return result;
}
