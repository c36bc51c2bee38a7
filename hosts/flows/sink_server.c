/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of iperf3 processes: their side of what iperf3.h describes. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "sink.h"
#include "tcp_socket.h"

void
sink_form_servers(struct sink *sink)
{
	const struct config *config = sink->session.config;

	sink->server_count = config->n_controls;
	for (size_t i = 0; i < sink->server_count; i++)
		sink->servers[i] = (struct server){
			.watch.fd = -1,
			.sink = sink,
			.control = &config->controls[i],
		};
	for (size_t i = 0; i < sink->flow_count && sink->server_count > 0; i++) {
		sink->servers[config->flows[i].process].stream_count++;
		sink->flows[i].owes_cookie = true;
	}
}

static void
hang_up(struct server *server)
{
	if (server->watch.fd >= 0)
		tcp_socket_abort(server->watch.fd);
	server->watch.fd = -1;
}

void
sink_close_servers(struct sink *sink)
{
	for (size_t i = 0; i < sink->server_count; i++)
		hang_up(&sink->servers[i]);
}

struct server *
sink_find_server(struct sink *sink, const struct sockaddr_in *peer,
		 const struct sockaddr_in *address)
{
	for (size_t i = 0; i < sink->server_count; i++) {
		struct server *server = &sink->servers[i];

		if (server->watch.fd < 0 && server->step == SERVER_AWAITS_COOKIE &&
		    flow_key_address(&server->control->source) == flow_key_address(peer) &&
		    flow_key_address(&server->control->destination) == flow_key_address(address))
			return server;
	}
	return NULL;
}

/* A client that is gone will be seen by its flows. */
static void
send_state(struct server *server, unsigned char state)
{
	if (send(server->watch.fd, &state, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		hang_up(server);
}

static void
start_when_all_are_there(struct server *server)
{
	if (server->step != SERVER_AWAITS_STREAMS || server->cookies < server->stream_count)
		return;
	server->step = SERVER_RUNS;
	send_state(server, IPERF3_TEST_START);
	send_state(server, IPERF3_TEST_RUNNING);
}

int
sink_server_cookie(struct server *server)
{
	server->cookies++;
	start_when_all_are_there(server);
	return 0;
}

/* How long the message that is awaited is, as far as that is known. */
static size_t
expected_bytes(const struct server *server)
{
	uint32_t length;

	if (server->step == SERVER_AWAITS_COOKIE)
		return IPERF3_COOKIE_BYTES;
	if (server->used < IPERF3_LENGTH_BYTES)
		return IPERF3_LENGTH_BYTES;
	memcpy(&length, server->message, sizeof(length));
	return IPERF3_LENGTH_BYTES + (size_t)ntohl(length);
}

static void
message_is_there(struct server *server)
{
	bool was_cookie = server->step == SERVER_AWAITS_COOKIE;

	server->used = 0;
	server->step = was_cookie ? SERVER_AWAITS_PARAMETERS : SERVER_AWAITS_STREAMS;
	send_state(server, was_cookie ? IPERF3_PARAM_EXCHANGE : IPERF3_CREATE_STREAMS);
	start_when_all_are_there(server);
}

/* Bytes of the message that is awaited; what comes later is not looked at. */
static int
read_message(struct server *server)
{
	size_t expected = expected_bytes(server);
	ssize_t count;

	if (expected > sizeof(server->message))
		return failure_set(server->sink->session.failure, EXIT_STATUS_HOST,
				   "control connection: parameters of %zu bytes", expected);
	count = recv(server->watch.fd, server->message + server->used, expected - server->used,
		     MSG_DONTWAIT);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (count <= 0) {
		hang_up(server);
		return 0;
	}
	server->used += (size_t)count;
	if (server->used == expected_bytes(server))
		message_is_there(server);
	return 0;
}

/* While the test runs only its end is left to come. */
static void
await_hang_up(struct server *server)
{
	unsigned char ignored[16];
	ssize_t count = recv(server->watch.fd, ignored, sizeof(ignored), MSG_DONTWAIT);

	if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
		hang_up(server);
}

static int
control_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct server *server = container_of(watch, struct server, watch);

	if (server->step == SERVER_AWAITS_COOKIE || server->step == SERVER_AWAITS_PARAMETERS)
		return read_message(server);
	await_hang_up(server);
	return 0;
}

int
sink_server_open(struct server *server, int fd)
{
	server->watch.fd = fd;
	server->watch.ready = control_readable;
	if (tcp_socket_send_at_once(fd) < 0)
		return failure_set(server->sink->session.failure, EXIT_STATUS_HOST,
				   "TCP_NODELAY: %s", strerror(errno));
	return loop_add(&server->sink->session.loop, &server->watch, EPOLLIN);
}
