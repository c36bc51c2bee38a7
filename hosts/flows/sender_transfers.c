/* SPDX-License-Identifier: Apache-2.0 */
#include "sender_transfers.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "calls.h"
#include "tcp_socket.h"

int
transfers_open(struct transfers *all, struct sender_flows *flows)
{
	*all = (struct transfers){.flows = flows};
	if (flows->in_advance == flows->count)
		return 0;
	all->list = calloc(flows->count, sizeof(*all->list));
	if (all->list == NULL)
		return failure_set(flows->session.failure, EXIT_STATUS_HOST, "out of memory");
	for (size_t i = 0; i < flows->count; i++) {
		if (!sender_flow_is_transfer(&flows->flows[i]))
			continue;
		all->list[i] = (struct transfer){.all = all, .flow = &flows->flows[i]};
		flows->flows[i].user = &all->list[i];
	}
	return 0;
}

void
transfers_close(struct transfers *all)
{
	free(all->list);
}

/* Nothing but its CCA makes its socket another one than the kernel's own. */
static bool
is_plain(const struct sender_flow *flow)
{
	const struct flow_config *config = flow->config;

	return !config->kept && !config->ecn && config->dscp == 0 &&
	       config->bytes <= flow->all->unsent_bytes;
}

static bool
are_alike(const struct flow_config *a, const struct flow_config *b)
{
	return a->group == b->group && strcmp(a->cc, b->cc) == 0;
}

/* NULL if there is none yet, and no room for one more: then no connection is used again. */
static struct pool *
pool_of(struct transfers *all, const struct flow_config *config)
{
	for (size_t i = 0; i < all->pool_count; i++)
		if (are_alike(all->pools[i].like, config))
			return &all->pools[i];
	if (all->pool_count == POOLS_MAX)
		return NULL;
	all->pools[all->pool_count] = (struct pool){.like = config};
	return &all->pools[all->pool_count++];
}

static struct transfer *
take_idle(struct transfers *all, const struct flow_config *config)
{
	struct pool *pool = config->kept ? pool_of(all, config) : NULL;
	struct transfer *connection = pool != NULL ? pool->idle : NULL;

	if (connection != NULL)
		pool->idle = connection->next_idle;
	return connection;
}

static void
put_idle(struct transfer *connection)
{
	struct pool *pool = pool_of(connection->all, connection->flow->config);

	if (pool == NULL)
		return;
	connection->next_idle = pool->idle;
	pool->idle = connection;
}

static void
leave_pool(struct transfer *connection)
{
	struct pool *pool = pool_of(connection->all, connection->flow->config);
	struct transfer **place = pool != NULL ? &pool->idle : NULL;

	while (place != NULL && *place != NULL && *place != connection)
		place = &(*place)->next_idle;
	if (place != NULL && *place != NULL)
		*place = connection->next_idle;
}

static int
lose(struct transfer *connection, int error, int64_t now_ns)
{
	if (connection->carries == NULL)
		leave_pool(connection);
	return sender_flow_lose(connection->flow, error, now_ns);
}

static void
carry(struct transfer *connection, struct transfer *transfer, int64_t now_ns)
{
	transfer->carrier = connection;
	transfer->start_ns = now_ns;
	connection->carries = transfer;
	connection->left_bytes = transfer->flow->config->bytes;
}

/*
 * As much as the socket takes. A connection that is not kept ends with its transfer: its FIN is in
 * the last segment, as a server's is that corks what it writes.
 */
static int
write_what_is_left(struct transfer *connection, int64_t now_ns)
{
	bool kept = connection->flow->config->kept;
	int fd = connection->flow->watch.fd;

	while (connection->left_bytes > 0) {
		size_t count = connection->left_bytes < WRITE_BYTES ?
				       (size_t)connection->left_bytes :
				       WRITE_BYTES;
		bool is_last = count == connection->left_bytes && !kept;
		ssize_t sent = send(fd, sender_flow_zeros, count,
				    MSG_DONTWAIT | MSG_NOSIGNAL | (is_last ? MSG_MORE : 0));

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 :
								   lose(connection, errno, now_ns);
		connection->left_bytes -= (uint64_t)sent;
	}
	if (!kept)
		shutdown(fd, SHUT_WR);
	return 0;
}

/* The same with the CCA read back: all of a small transfer goes into an empty socket. */
static int
write_at_once(struct transfer *connection, int64_t now_ns)
{
	struct sender_flow *flow = connection->flow;
	uint64_t count =
		connection->left_bytes < WRITE_BYTES ? connection->left_bytes : WRITE_BYTES;
	uint64_t fd = (uint64_t)flow->watch.fd;
	socklen_t length = sizeof(flow->cc_applied) - 1;
	struct calls calls = {0};
	int64_t sent;
	int written;

	CALLS_ADD(&calls, getsockopt, fd, IPPROTO_TCP, TCP_CONGESTION,
		  CALL_ARGUMENT(flow->cc_applied), CALL_ARGUMENT(&length));
	written = CALLS_ADD(&calls, sendto, fd, CALL_ARGUMENT(sender_flow_zeros), count,
			    MSG_DONTWAIT | MSG_NOSIGNAL |
				    (count == connection->left_bytes ? MSG_MORE : 0));
	calls_expect(&calls, (int64_t)connection->left_bytes);
	CALLS_ADD(&calls, shutdown, fd, SHUT_WR);
	calls_make(flow->all->session.service, &calls);
	sent = calls_result(&calls, written);
	if (sent > 0)
		connection->left_bytes -= (uint64_t)sent;
	return connection->left_bytes > 0 ? write_what_is_left(connection, now_ns) : 0;
}

/* All of a transfer has arrived, and the sender knows. */
static int
complete(struct transfer *connection, int64_t now_ns)
{
	connection->carries->acked_ns = now_ns;
	connection->carries = NULL;
	if (!connection->flow->config->kept)
		return sender_flow_finish(connection->flow, now_ns);
	connection->flow->state = FLOW_CONNECTED;
	put_idle(connection);
	return 0;
}

static int
answered(struct transfer *connection, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = connection->flow;
	struct pool *pool = pool_of(connection->all, flow->config);

	if ((events & (EPOLLERR | EPOLLHUP)) != 0)
		return lose(connection, tcp_socket_error(flow->watch.fd), now_ns);
	if (is_plain(flow) && pool != NULL && pool->state_is_known) {
		sender_flow_adopt_plain(flow, pool->state, now_ns);
		return write_at_once(connection, now_ns);
	}
	if (sender_flow_adopt(flow, pool != NULL ? pool->state : NULL,
			      pool != NULL && pool->state_is_known, now_ns) < 0)
		return -1;
	if (pool != NULL) {
		pool->state = flow->state_of_cc;
		pool->state_is_known = true;
	}
	return write_what_is_left(connection, now_ns);
}

/* What the other side, or the acknowledgement of all that was written, means. */
static int
heard(struct transfer *connection, uint32_t events, int64_t now_ns)
{
	const struct sender_flow *flow = connection->flow;
	bool is_written = connection->carries != NULL && connection->left_bytes == 0;
	bool is_closed = (events & (EPOLLRDHUP | EPOLLHUP)) != 0;
	int error;

	if ((events & EPOLLERR) != 0) {
		if (flow->config->kept)
			tcp_socket_drop_notices(flow->watch.fd);
		error = tcp_socket_error(flow->watch.fd);
		if (error != 0)
			return lose(connection, error, now_ns);
	}
	if (is_closed && (flow->config->kept || !is_written))
		return lose(connection, ECONNRESET, now_ns);
	if (is_written && (is_closed || tcp_socket_unacknowledged(flow->watch.fd) == 0))
		return is_closed || flow->config->kept ? complete(connection, now_ns) : 0;
	return 0;
}

static int
ready(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);
	struct transfer *connection = flow->user;

	if (flow->state == FLOW_IDLE)
		return answered(connection, events, now_ns);
	if (connection->left_bytes > 0 && (events & EPOLLOUT) != 0 &&
	    write_what_is_left(connection, now_ns) < 0)
		return -1;
	if ((events & (EPOLLERR | EPOLLRDHUP | EPOLLHUP)) == 0 || watch->fd < 0)
		return 0;
	return heard(connection, events, now_ns);
}

/* Opened and on its way at once: a thousand may come in a second. */
static int
connect_at_once(struct sender_flow *flow, int64_t now_ns)
{
	static const int on = 1;
	const struct flow_config *config = flow->config;
	struct epoll_event event = {
		.events = EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = &flow->watch,
	};
	char name[FLOW_NAME_BYTES];
	struct calls calls = {0};
	int opened;
	bool done;

	opened = CALLS_ADD(&calls, socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CALLS_ADD(&calls, setsockopt, 0, IPPROTO_TCP, TCP_CONGESTION, CALL_ARGUMENT(config->cc),
		  strlen(config->cc));
	calls_fd_of(&calls, 0, opened);
	CALLS_ADD(&calls, setsockopt, 0, SOL_SOCKET, SO_REUSEADDR, CALL_ARGUMENT(&on), sizeof(on));
	calls_fd_of(&calls, 0, opened);
	CALLS_ADD(&calls, bind, 0, CALL_ARGUMENT(&config->source), sizeof(config->source));
	calls_fd_of(&calls, 0, opened);
	CALLS_ADD(&calls, connect, 0, CALL_ARGUMENT(&config->destination),
		  sizeof(config->destination));
	calls_fd_of(&calls, 0, opened);
	calls_expect(&calls, -EINPROGRESS);
	CALLS_ADD(&calls, epoll_ctl, (uint64_t)flow->all->session.loop.epoll_fd, EPOLL_CTL_ADD, 0,
		  CALL_ARGUMENT(&event));
	calls_fd_of(&calls, 2, opened);
	done = calls_make(flow->all->session.service, &calls);
	flow->watch.fd = (int)calls_result(&calls, opened);
	flow->watch.ready = ready;
	flow->connecting_ns = now_ns;
	return done ? 0 :
		      failure_set(flow->all->session.failure, EXIT_STATUS_HOST,
				  "%s: cannot connect: %s", flow_name(config, name),
				  strerror(calls_error(&calls)));
}

static int
connect_now(struct sender_flow *flow, int64_t now_ns)
{
	const struct sockaddr_in *destination = &flow->config->destination;
	char name[FLOW_NAME_BYTES];

	flow->connecting_ns = now_ns;
	flow->watch.ready = ready;
	if (connect(flow->watch.fd, (const struct sockaddr *)destination, sizeof(*destination)) <
		    0 &&
	    errno != EINPROGRESS)
		return failure_set(flow->all->session.failure, EXIT_STATUS_HOST,
				   "%s: cannot connect: %s", flow_name(flow->config, name),
				   strerror(errno));
	/* One registration for all of its life: each change is told once. */
	return loop_add(&flow->all->session.loop, &flow->watch, EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

int
transfers_start(struct transfers *all, struct sender_flow *flow, int64_t now_ns)
{
	struct transfer *transfer = flow->user;
	struct transfer *connection = take_idle(all, flow->config);

	if (connection != NULL) {
		carry(connection, transfer, now_ns);
		connection->flow->state = FLOW_RUNNING;
		return write_what_is_left(connection, now_ns);
	}
	if (is_plain(flow)) {
		carry(transfer, transfer, now_ns);
		return connect_at_once(flow, now_ns);
	}
	if (sender_flow_open(flow) < 0)
		return -1;
	if (flow->config->kept &&
	    tcp_socket_notify_acks(flow->watch.fd, flow->config, all->flows->session.failure) < 0)
		return -1;
	carry(transfer, transfer, now_ns);
	return connect_now(flow, now_ns);
}

int
transfers_finish(struct transfers *all)
{
	struct sender_flows *flows = all->flows;
	struct record_file file;

	if (all->list == NULL)
		return 0;
	if (record_file_open(&file, flows->session.config->out, TRANSFERS_FILE,
			     flows->session.failure) < 0)
		return -1;
	for (size_t i = 0; i < flows->count; i++) {
		const struct transfer *transfer = &all->list[i];
		struct transfer_record record = {
			.transfer = flows->flows[i].config->flow,
			.start_ns = transfer->start_ns,
			.acked_ns = transfer->acked_ns,
		};

		if (transfer->carrier == NULL)
			continue;
		record.flow = transfer->carrier->flow->config->flow;
		if (record_file_append(&file, &record, sizeof(record), flows->session.failure) < 0)
			return -1;
	}
	return record_file_close(&file, flows->session.failure);
}
