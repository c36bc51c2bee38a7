/* SPDX-License-Identifier: Apache-2.0 */
/* One flow's connection at the sink: counts what arrives until the connection ends. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "sink.h"
#include "tcp_socket.h"

/*
 * With MSG_TRUNC the kernel drops the data of a TCP socket instead of copying it, so a read may
 * be as large as it likes and takes everything that is there.
 */
#define READ_BYTES ((size_t)1 << 30)

static void
count_bytes(struct sink_flow *flow, uint64_t bytes, int64_t now_ns)
{
	if (flow->first_byte_ns == 0)
		flow->first_byte_ns = now_ns;
	flow->last_byte_ns = now_ns;
	flow->bytes += bytes;
	flow->interval_bytes += bytes;
}

/* Also after a reset: a socket keeps its counters until it is closed. */
static void
count_segments(const struct sink_flow *flow)
{
	struct tcp_segments segments = tcp_socket_segments(flow->watch.fd);

	flow->sink->acks += segments.sent;
	flow->sink->segments += segments.received_data;
}

static void
close_flow(struct sink_flow *flow, enum sink_flow_end end)
{
	count_segments(flow);
	tcp_socket_abort(flow->watch.fd);
	flow->watch.fd = -1;
	flow->end = end;
	flow->sink->open--;
	flow->sink->closed++;
}

static void
connection_broke(struct sink_flow *flow, int error)
{
	if (error == ECONNRESET) {
		close_flow(flow, CLOSED_BY_RESET);
		return;
	}
	flow->error = error;
	close_flow(flow, CLOSED_BY_ERROR);
}

static int
wake_at(const struct sink_flow *flow, unsigned int bytes)
{
	if (tcp_socket_wake_at(flow->watch.fd, bytes) == 0)
		return 0;
	return failure_set(flow->sink->session.failure, EXIT_STATUS_HOST, "SO_RCVLOWAT: %s",
			   strerror(errno));
}

/*
 * With read_interval_ns only the end of a connection wakes: its data is read on the grid, and any
 * of it that waits puts acknowledgements off (a mark above one byte would have them sent at once).
 */
static unsigned int
data_mark(const struct config *config)
{
	return config->read_interval_ns > 0 ? 1 : config->read_bytes;
}

static uint32_t
data_events(const struct config *config)
{
	return config->read_interval_ns > 0 ? 0 : EPOLLIN;
}

/* The first byte of a stream is that of its data, not of its cookie. */
static int
take_cookie(struct sink_flow *flow)
{
	const struct config *config = flow->sink->session.config;

	flow->owes_cookie = false;
	flow->first_byte_ns = flow->last_byte_ns = 0;
	if (wake_at(flow, data_mark(config)) < 0 ||
	    loop_change(&flow->sink->session.loop, &flow->watch, data_events(config)) < 0)
		return -1;
	return sink_server_cookie(&flow->sink->servers[flow->config->process]);
}

/* A reset does not hide data that came before it: recv() reports it only after them. */
int
sink_flow_read(struct sink_flow *flow, int64_t now_ns)
{
	ssize_t count = recv(flow->watch.fd, NULL, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);

	if (count > 0) {
		count_bytes(flow, (uint64_t)count, now_ns);
		if (flow->owes_cookie && flow->bytes >= IPERF3_COOKIE_BYTES)
			return take_cookie(flow);
	} else if (count == 0) {
		close_flow(flow, CLOSED_BY_FIN);
	} else if (errno != EAGAIN && errno != EINTR) {
		connection_broke(flow, errno);
	}
	return 0;
}

static int
flow_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	(void)events;
	return sink_flow_read(container_of(watch, struct sink_flow, watch), now_ns);
}

int
sink_flow_open(struct sink_flow *flow, int fd)
{
	const struct config *config = flow->sink->session.config;
	bool owes = flow->owes_cookie;

	flow->watch.fd = fd;
	flow->watch.ready = flow_readable;
	flow->end = STILL_OPEN;
	flow->sink->open++;
	if (wake_at(flow, owes ? IPERF3_COOKIE_BYTES : data_mark(config)) < 0)
		return -1;
	return loop_add(&flow->sink->session.loop, &flow->watch,
			owes ? EPOLLIN : data_events(config));
}

int
sink_flow_finish(struct sink_flow *flow, int64_t now_ns)
{
	if (sink_flow_read(flow, now_ns) < 0)
		return -1;
	if (flow->watch.fd >= 0)
		close_flow(flow, CLOSED_BY_US);
	return 0;
}
