/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/shared.h"
#include "sink.h"
#include "tcp_socket.h"

static int
allocate_flows(struct sink *sink, const struct config *config)
{
	sink->flows = calloc(config->flow_count, sizeof(*sink->flows));
	if (sink->flows == NULL)
		return failure_set(sink->session.failure, EXIT_STATUS_HOST, "out of memory");

	sink->flow_count = config->flow_count;
	for (size_t i = 0; i < sink->flow_count; i++)
		sink->flows[i] = (struct sink_flow){
			.watch.fd = -1,
			.sink = sink,
			.config = &config->flows[i],
		};
	return 0;
}

static int
open_sink(struct sink *sink, const struct config *config, struct failure *failure)
{
	*sink = (struct sink){.goodput = RECORD_FILE_CLOSED};
	if (session_open(&sink->session, config, failure) < 0 || allocate_flows(sink, config) < 0)
		return -1;
	sink_form_servers(sink);
	if (flow_index_build(&sink->by_source, config, flow_key_source, failure) < 0)
		return -1;
	return record_file_open(&sink->goodput, config->out, GOODPUT_FILE, failure);
}

static void
close_sink(struct sink *sink)
{
	struct failure ignored = {0};

	for (size_t i = 0; i < sink->listener_count; i++)
		if (sink->listeners[i].watch.fd >= 0)
			tcp_socket_abort(sink->listeners[i].watch.fd);
	sink_close_servers(sink);
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].watch.fd >= 0)
			tcp_socket_abort(sink->flows[i].watch.fd);
	record_file_close(&sink->goodput, &ignored);
	flow_index_free(&sink->by_source);
	free(sink->listeners);
	free(sink->flows);
	session_close(&sink->session);
}

static int
run_phases(struct sink *sink)
{
	if (sink_listen(sink) < 0)
		return -1;
	if (sink_report_listening(sink) < 0)
		return -1;
	if (sink_wait_for_t0(sink) < 0)
		return -1;
	if (sink_count(sink) < 0)
		return -1;
	if (record_file_close(&sink->goodput, sink->session.failure) < 0)
		return -1;
	if (sink_report_end(sink) < 0)
		return -1;
	return session_exit_status(&sink->session);
}

int
sink_run(const struct config *config, struct failure *failure)
{
	struct sink sink;
	int status = -1;

	if (open_sink(&sink, config, failure) == 0)
		status = run_phases(&sink);
	close_sink(&sink);
	return status;
}
