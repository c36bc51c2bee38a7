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

static void
close_flow(struct sink_flow *flow, enum sink_flow_end end)
{
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

/* A reset does not hide data that came before it: recv() reports it only after them. */
void
sink_flow_read(struct sink_flow *flow, int64_t now_ns)
{
	ssize_t count = recv(flow->watch.fd, NULL, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);

	if (count > 0)
		count_bytes(flow, (uint64_t)count, now_ns);
	else if (count == 0)
		close_flow(flow, CLOSED_BY_FIN);
	else if (errno != EAGAIN && errno != EINTR)
		connection_broke(flow, errno);
}

static int
flow_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	(void)events;
	sink_flow_read(container_of(watch, struct sink_flow, watch), now_ns);
	return 0;
}

int
sink_flow_open(struct sink_flow *flow, int fd)
{
	const int at_once = (int)flow->sink->session.config->read_bytes;

	flow->watch.fd = fd;
	flow->watch.ready = flow_readable;
	flow->end = STILL_OPEN;
	flow->sink->open++;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &at_once, sizeof(at_once)) < 0)
		return failure_set(flow->sink->session.failure, EXIT_STATUS_HOST, "SO_RCVLOWAT: %s",
				   strerror(errno));
	return loop_add(&flow->sink->session.loop, &flow->watch, EPOLLIN);
}

void
sink_flow_finish(struct sink_flow *flow, int64_t now_ns)
{
	sink_flow_read(flow, now_ns);
	if (flow->watch.fd >= 0)
		close_flow(flow, CLOSED_BY_US);
}
