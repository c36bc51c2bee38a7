/* SPDX-License-Identifier: Apache-2.0 */
/* One flow's connection at the sink: counts what arrives until the connection ends. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calls.h"
#include "sink.h"
#include "tcp_socket.h"

void
sink_flow_count(struct sink_flow *flow, uint64_t bytes, int64_t now_ns)
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
note_closed(struct sink_flow *flow, enum sink_flow_end end)
{
	flow->watch.fd = -1;
	flow->end = end;
	flow->sink->open--;
	flow->sink->closed++;
}

static void
close_flow(struct sink_flow *flow, enum sink_flow_end end)
{
	if (flow->config->bytes == 0)
		count_segments(flow);
	if (flow->served)
		served_give_back(flow->sink->session.service, flow->watch.fd);
	flow->served = false;
	if (end == CLOSED_BY_FIN)
		close(flow->watch.fd); /* answered in kind */
	else
		tcp_socket_abort(flow->watch.fd);
	note_closed(flow, end);
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

/* Hand the data over to the guest's kernel where that is ours; then only the end wakes. */
static int
watch_data(struct sink_flow *flow, int (*watch)(struct loop *, struct watch *, uint32_t))
{
	const struct session *session = &flow->sink->session;
	bool on_order = session->config->read_interval_ns > 0;
	uint32_t events = data_events(session->config);

	flow->served = served_take(session->service, flow->watch.fd,
				   on_order ? NASHBED_FLOWS_ON_ORDER : NASHBED_FLOWS_RECEIVE);
	return watch(&flow->sink->session.loop, &flow->watch, flow->served ? EPOLLRDHUP : events);
}

/* The first byte of a stream is that of its data, not of its cookie. */
static int
take_cookie(struct sink_flow *flow)
{
	const struct config *config = flow->sink->session.config;

	flow->owes_cookie = false;
	flow->first_byte_ns = flow->last_byte_ns = 0;
	if (wake_at(flow, data_mark(config)) < 0 || watch_data(flow, loop_change) < 0)
		return -1;
	return sink_server_cookie(&flow->sink->servers[flow->config->process]);
}

/* What the kernel has read since the last time, and whether the connection has ended. */
static void
take_count(struct sink_flow *flow, const struct nashbed_flows_count *count)
{
	if (count->bytes > flow->served_bytes) {
		if (flow->first_byte_ns == 0)
			flow->first_byte_ns = count->first_ns;
		flow->last_byte_ns = count->last_ns;
		flow->bytes += count->bytes - flow->served_bytes;
		flow->interval_bytes += count->bytes - flow->served_bytes;
		flow->served_bytes = count->bytes;
	}
	if (count->ended == 0)
		close_flow(flow, CLOSED_BY_FIN);
	else if (count->ended < 0)
		connection_broke(flow, -count->ended);
}

static int
read_counts(const struct sink *sink, struct nashbed_flows_count *counts, size_t n)
{
	if (served_read(sink->session.service, counts, n) == 0)
		return 0;
	return failure_set(sink->session.failure, EXIT_STATUS_INTERNAL, "%s: %s",
			   NASHBED_FLOWS_PATH, strerror(errno));
}

static int
read_served(struct sink_flow *flow)
{
	struct nashbed_flows_count count = {.fd = flow->watch.fd};

	if (read_counts(flow->sink, &count, 1) < 0)
		return -1;
	take_count(flow, &count);
	return 0;
}

static int
read_all_served(struct sink *sink)
{
	size_t n = 0;

	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].served)
			sink->counts[n++].fd = sink->flows[i].watch.fd;
	if (n > 0 && read_counts(sink, sink->counts, n) < 0)
		return -1;
	n = 0;
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].served)
			take_count(&sink->flows[i], &sink->counts[n++]);
	return 0;
}

/*
 * A transfer is read when its first byte is there, and its last one. A connection that is kept does
 * not know which is the last: it is read, and that noted, whenever there is anything.
 */
static int
note_transfer(struct sink_flow *flow, uint64_t bytes, int64_t now_ns)
{
	const struct config *config = flow->sink->session.config;
	struct goodput_record record = {
		.t_ns = now_ns,
		.flow = flow->config->flow,
		.bytes = bytes,
	};
	uint64_t left = flow->config->bytes - flow->bytes;

	if (flow->config->kept)
		return record_file_append(&flow->sink->kept_reads, &record, sizeof(record),
					  flow->sink->session.failure);
	if (left == 0 || flow->bytes > flow->config->bytes)
		return 0;
	return wake_at(flow, left < config->read_bytes ? (unsigned int)left : config->read_bytes);
}

/* A reset does not hide data that came before it: recv() reports it only after them. */
static int
read_socket(struct sink_flow *flow, int64_t now_ns)
{
	ssize_t count = recv(flow->watch.fd, NULL, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);

	if (count > 0) {
		sink_flow_count(flow, (uint64_t)count, now_ns);
		if (flow->config->bytes > 0)
			return note_transfer(flow, (uint64_t)count, now_ns);
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
read_flow(struct sink_flow *flow, int64_t now_ns)
{
	return flow->served ? read_served(flow) : read_socket(flow, now_ns);
}

/*
 * A flow is read when read_bytes wait (SO_RCVLOWAT): not one wake-up per packet. It has a second
 * use: as long as less than that waits the kernel acknowledges every second segment at once; where
 * more waits it puts off an acknowledgement that would announce a smaller window. At the end of an
 * interval all flows are read, so that it has every byte that arrived before its end.
 * With read_interval_ns all flows are read on a grid instead, and what waits until then puts
 * acknowledgements off: ACK thinning.
 */
int
sink_flows_read(struct sink *sink, int64_t now_ns)
{
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].watch.fd >= 0 && !sink->flows[i].served &&
		    sink->flows[i].config->bytes == 0 && read_socket(&sink->flows[i], now_ns) < 0)
			return -1;
	return sink_datagrams_read(sink, now_ns) < 0 ? -1 : read_all_served(sink);
}

/* Read what is left of a transfer, and close: the FIN comes with the last byte. */
static int
read_to_end(struct sink_flow *flow, int64_t now_ns)
{
	uint64_t left = flow->config->bytes - flow->bytes;
	uint64_t fd = (uint64_t)flow->watch.fd;
	struct calls calls = {0};
	int was_read = CALLS_ADD(&calls, recvfrom, fd, 0, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);
	int64_t count;

	calls_expect(&calls, (int64_t)left);
	CALLS_ADD(&calls, close, fd);
	if (calls_make(flow->sink->session.service, &calls)) {
		sink_flow_count(flow, left, now_ns);
		note_closed(flow, CLOSED_BY_FIN);
		return 0;
	}
	count = calls_result(&calls, was_read);
	if (count > 0)
		sink_flow_count(flow, (uint64_t)count, now_ns);
	return read_socket(flow, now_ns);
}

static int
flow_readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sink_flow *flow = container_of(watch, struct sink_flow, watch);
	const struct flow_config *config = flow->config;

	if ((events & EPOLLRDHUP) != 0 && (events & EPOLLERR) == 0 && config->bytes > 0 &&
	    !config->kept && flow->bytes < config->bytes)
		return read_to_end(flow, now_ns);
	return read_flow(flow, now_ns);
}

int
sink_transfer_open(struct sink_flow *flow, int fd, uint64_t bytes, int64_t now_ns)
{
	const struct config *config = flow->sink->session.config;
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = &flow->watch};
	uint64_t left = flow->config->bytes > bytes ? flow->config->bytes - bytes : 1;
	int mark = left < config->read_bytes ? (int)left : (int)config->read_bytes;
	struct goodput_record record = {.t_ns = now_ns, .flow = flow->config->flow, .bytes = bytes};
	struct calls calls = {0};

	flow->watch.fd = fd;
	flow->watch.ready = flow_readable;
	flow->end = STILL_OPEN;
	flow->sink->open++;
	if (bytes > 0)
		sink_flow_count(flow, bytes, now_ns);
	if (bytes > 0 && flow->config->kept &&
	    record_file_append(&flow->sink->kept_reads, &record, sizeof(record),
			       flow->sink->session.failure) < 0)
		return -1;
	CALLS_ADD(&calls, epoll_ctl, (uint64_t)flow->sink->session.loop.epoll_fd, EPOLL_CTL_ADD,
		  (uint64_t)fd, CALL_ARGUMENT(&event));
	if (!flow->config->kept && bytes > 0 && mark > 1)
		CALLS_ADD(&calls, setsockopt, (uint64_t)fd, SOL_SOCKET, SO_RCVLOWAT,
			  CALL_ARGUMENT(&mark), sizeof(mark));
	return calls_make(flow->sink->session.service, &calls) ?
		       0 :
		       failure_set(flow->sink->session.failure, EXIT_STATUS_HOST,
				   "cannot watch a connection: %s", strerror(calls_error(&calls)));
}

int
sink_flow_open(struct sink_flow *flow, int fd, int64_t now_ns)
{
	const struct config *config = flow->sink->session.config;
	bool owes = flow->owes_cookie;

	flow->watch.fd = fd;
	flow->watch.ready = flow_readable;
	flow->end = STILL_OPEN;
	flow->sink->open++;
	if (flow->config->bytes > 0)
		return loop_add(&flow->sink->session.loop, &flow->watch, EPOLLIN | EPOLLRDHUP) < 0 ?
			       -1 :
			       read_socket(flow, now_ns);
	if (wake_at(flow, owes ? IPERF3_COOKIE_BYTES : data_mark(config)) < 0)
		return -1;
	return owes ? loop_add(&flow->sink->session.loop, &flow->watch, EPOLLIN) :
		      watch_data(flow, loop_add);
}

int
sink_flow_finish(struct sink_flow *flow, int64_t now_ns)
{
	if (read_flow(flow, now_ns) < 0)
		return -1;
	if (flow->watch.fd >= 0)
		close_flow(flow, CLOSED_BY_US);
	return 0;
}
