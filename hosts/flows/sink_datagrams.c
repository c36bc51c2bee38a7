/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams at the sink: one socket per destination, each of them recorded with its arrival. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sink.h"
#include "udp_socket.h"

#define BATCH 32

/* The flow that a datagram is of, or NULL. */
static struct sink_flow *
find_flow(struct sink *sink, const struct datagram *datagram)
{
	size_t position = flow_index_find(&sink->by_source, flow_key_address(&datagram->source));
	struct sink_flow *flow = position == FLOW_INDEX_NONE ? NULL : &sink->flows[position];

	return flow != NULL && datagram->bytes >= DATAGRAM_BYTES_MIN &&
			       config_is_udp(sink->session.config, flow->config) ?
		       flow :
		       NULL;
}

static int
take(struct sink *sink, const struct datagram *datagram, int64_t now_ns)
{
	struct sink_flow *flow = find_flow(sink, datagram);
	struct arrived_datagram record = {
		.arrived_ns = datagram->arrived_ns,
		.seq = datagram->header.seq,
	};

	if (flow == NULL) {
		sink->strangers++;
		return 0;
	}
	record.flow = flow->config->flow;
	sink_flow_count(flow, datagram->bytes, now_ns);
	return record_file_append(&sink->datagrams, &record, sizeof(record), sink->session.failure);
}

static int
drain(struct datagram_sink *from, int64_t now_ns)
{
	struct sink *sink = from->sink;
	struct datagram datagrams[BATCH];
	int n;

	do {
		n = udp_socket_receive(from->watch.fd, sink->clock_shift_ns, datagrams, BATCH);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return failure_set(sink->session.failure, EXIT_STATUS_HOST,
					   "cannot receive datagrams: %s", strerror(errno));
		for (int i = 0; i < n; i++)
			if (take(sink, &datagrams[i], now_ns) < 0)
				return -1;
	} while (n == BATCH);
	return 0;
}

static int
readable(struct watch *watch, uint32_t events, int64_t now_ns)
{
	return drain(container_of(watch, struct datagram_sink, watch), now_ns);
}

int
sink_datagrams_read(struct sink *sink, int64_t now_ns)
{
	for (size_t i = 0; i < sink->datagram_sink_count; i++)
		if (drain(&sink->datagram_sinks[i], now_ns) < 0)
			return -1;
	return 0;
}

static bool
has_socket(const struct sink *sink, size_t flow)
{
	uint64_t address = flow_key_address(&sink->flows[flow].config->destination);

	for (size_t i = 0; i < flow; i++)
		if (sink->flows[i].end == STILL_OPEN &&
		    flow_key_address(&sink->flows[i].config->destination) == address)
			return true;
	return false;
}

static int
receive_at(struct sink *sink, const struct sockaddr_in *address)
{
	struct datagram_sink *new = &sink->datagram_sinks[sink->datagram_sink_count];

	*new = (struct datagram_sink){
		.watch = {.fd = udp_socket_listen(address, sink->session.failure),
			  .ready = readable},
		.sink = sink,
	};
	if (new->watch.fd < 0)
		return -1;
	sink->datagram_sink_count++;
	return loop_add(&sink->session.loop, &new->watch, EPOLLIN);
}

int
sink_datagrams_open(struct sink *sink)
{
	const struct config *config = sink->session.config;

	if (!config_has(config, KIND_UDP))
		return 0;
	sink->clock_shift_ns = udp_socket_clock_shift_ns();
	sink->datagram_sinks = calloc(sink->flow_count, sizeof(*sink->datagram_sinks));
	if (sink->datagram_sinks == NULL)
		return failure_set(sink->session.failure, EXIT_STATUS_HOST, "out of memory");
	for (size_t i = 0; i < sink->flow_count; i++) {
		if (!config_is_udp(config, sink->flows[i].config))
			continue;
		if (!has_socket(sink, i) &&
		    receive_at(sink, &sink->flows[i].config->destination) < 0)
			return -1;
		sink->flows[i].end = STILL_OPEN;
	}
	return record_file_open(&sink->datagrams, config->out, ARRIVED_FILE, sink->session.failure);
}

void
sink_datagrams_close(struct sink *sink)
{
	struct failure ignored = {0};

	for (size_t i = 0; i < sink->datagram_sink_count; i++)
		close(sink->datagram_sinks[i].watch.fd);
	record_file_close(&sink->datagrams, &ignored);
	free(sink->datagram_sinks);
}
