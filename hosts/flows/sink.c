/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink as a list of phases: listen, report that, wait for t0, count until the end, report. It
 * accepts and reads in all of them.
 *
 * It counts by interval. The loop closes every interval that has ended before it handles the next
 * event, so bytes always fall into the interval in which they are read, however late the timer.
 */
#include "sink.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/events.h"
#include "common/shared.h"
#include "tcp_socket.h"

static int
allocate_flows(struct sink *sink, const struct config *config)
{
	sink->flows = calloc(config->n_flows, sizeof(*sink->flows));
	if (sink->flows == NULL)
		return failure_set(sink->session.failure, EXIT_STATUS_HOST, "out of memory");

	sink->flow_count = config->n_flows;
	if (sink->session.service >= 0)
		sink->counts = calloc(config->n_flows, sizeof(*sink->counts));
	if (sink->session.service >= 0 && sink->counts == NULL)
		return failure_set(sink->session.failure, EXIT_STATUS_HOST, "out of memory");
	for (size_t i = 0; i < sink->flow_count; i++)
		sink->flows[i] = (struct sink_flow){
			.watch.fd = -1,
			.sink = sink,
			.config = &config->flows[i],
		};
	return 0;
}

static bool
any_is_kept(const struct config *config)
{
	for (size_t i = 0; i < config->n_flows; i++)
		if (config->flows[i].kept)
			return true;
	return false;
}

static int
open_sink(struct sink *sink, const struct config *config, struct failure *failure)
{
	*sink = (struct sink){
		.goodput = RECORD_FILE_CLOSED,
		.datagrams = RECORD_FILE_CLOSED,
		.kept_reads = RECORD_FILE_CLOSED,
	};
	if (session_open(&sink->session, config, failure) < 0 || allocate_flows(sink, config) < 0)
		return -1;
	sink_form_servers(sink);
	if (flow_index_build(&sink->by_source, config, failure) < 0)
		return -1;
	if (any_is_kept(config) &&
	    record_file_open(&sink->kept_reads, config->out, READS_FILE, failure) < 0)
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
	sink_datagrams_close(sink);
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].watch.fd >= 0)
			tcp_socket_abort(sink->flows[i].watch.fd);
	record_file_close(&sink->goodput, &ignored);
	record_file_close(&sink->kept_reads, &ignored);
	flow_index_free(&sink->by_source);
	free(sink->listeners);
	free(sink->counts);
	free(sink->flows);
	session_close(&sink->session);
}

static int
report_listening(const struct sink *sink)
{
	return event_print(json_pack("{s:s, s:I}", "event", "listening", "addresses",
				     (json_int_t)sink->listener_count),
			   sink->session.failure);
}

static const char *
end_name(enum sink_flow_end end)
{
	static const char *const names[] = {
		[NEVER_CONNECTED] = "never connected", [STILL_OPEN] = "open",
		[CLOSED_BY_RESET] = "reset",	       [CLOSED_BY_FIN] = "fin",
		[CLOSED_BY_ERROR] = "error",	       [CLOSED_BY_US] = "deadline",
	};

	return names[end];
}

static json_t *
flow_to_json(const struct sink_flow *flow)
{
	json_t *error = flow->error == 0 ? json_null() : json_string(strerror(flow->error));

	return json_pack("{s:I, s:I, s:o, s:o, s:s, s:o}", "flow", (json_int_t)flow->config->flow,
			 "bytes", (json_int_t)flow->bytes, "first_byte_ns",
			 session_moment(&flow->sink->session, flow->first_byte_ns), "last_byte_ns",
			 session_moment(&flow->sink->session, flow->last_byte_ns), "closed",
			 end_name(flow->end), "error", error);
}

/* Payload of each flow so far, in the configuration's order. */
static int
report_progress(const struct sink *sink, int64_t t_ns)
{
	json_t *bytes = json_array();

	for (size_t i = 0; i < sink->flow_count; i++)
		json_array_append_new(bytes, json_integer((json_int_t)sink->flows[i].bytes));
	return event_print(json_pack("{s:s, s:I, s:o}", "event", "progress", "t_ns",
				     (json_int_t)(t_ns - sink->session.t0_ns), "bytes", bytes),
			   sink->session.failure);
}

static int
report_end(const struct sink *sink)
{
	json_t *flows = json_array();
	json_t *extra =
		json_pack("{s:I, s:I, s:I, s:o}", "strangers", (json_int_t)sink->strangers, "acks",
			  (json_int_t)sink->acks, "segments", (json_int_t)sink->segments,
			  "lateness", lateness_to_json(&sink->lateness));

	for (size_t i = 0; i < sink->flow_count; i++)
		json_array_append_new(flows, flow_to_json(&sink->flows[i]));
	return session_report_end(&sink->session, flows, extra);
}

static bool
all_closed(const void *owner)
{
	const struct sink *sink = owner;

	return sink->closed == sink->flow_count;
}

static bool
t0_known_or_all_closed(const void *owner)
{
	return session_t0_known(&((const struct sink *)owner)->session) || all_closed(owner);
}

static int
wait_for_t0(struct sink *sink)
{
	static const struct agenda agenda = {.finished = t0_known_or_all_closed};
	const struct session *session = &sink->session;

	if (loop_run(&sink->session.loop, &agenda, sink) < 0)
		return -1;
	if (session->loop.stop_signal == 0 && !session_t0_known(session))
		return failure_set(session->failure, EXIT_STATUS_HOST,
				   "the sender closed every flow before t0 arrived");
	return 0;
}

static int
write_interval(struct sink *sink, uint64_t interval)
{
	struct goodput_record record = {.t_ns = grid_time_ns(&sink->interval_ends, interval)};

	for (size_t i = 0; i < sink->flow_count; i++) {
		if (sink->flows[i].config->bytes > 0 && sink->flows[i].interval_bytes == 0)
			continue; /* most transfers are none at any time */
		record.flow = sink->flows[i].config->flow;
		record.bytes = sink->flows[i].interval_bytes;
		sink->flows[i].interval_bytes = 0;
		if (record_file_append(&sink->goodput, &record, sizeof(record),
				       sink->session.failure) < 0)
			return -1;
	}
	return 0;
}

static int
close_intervals(struct sink *sink, int64_t now_ns)
{
	while (grid_next_ns(&sink->interval_ends) <= now_ns)
		if (write_interval(sink, grid_take_next(&sink->interval_ends, now_ns,
							&sink->lateness)) < 0)
			return -1;
	return 0;
}

/* What the last reads bring belongs to the interval that is still open. */
static int
finish(struct sink *sink, int64_t now_ns)
{
	for (size_t i = 0; i < sink->flow_count; i++)
		if (sink->flows[i].watch.fd >= 0 && sink_flow_finish(&sink->flows[i], now_ns) < 0)
			return -1;
	if (sink_datagrams_read(sink, now_ns) < 0)
		return -1;
	sink->over = true;
	return write_interval(sink, sink->interval_ends.next);
}

static int64_t
count_next_ns(const void *owner)
{
	const struct sink *sink = owner;
	int64_t interval_ns = grid_next_ns(&sink->interval_ends);
	int64_t progress_ns = grid_next_ns(&sink->progress);
	int64_t reads_ns = grid_next_ns(&sink->reads);
	int64_t first_ns = interval_ns < progress_ns ? interval_ns : progress_ns;

	first_ns = reads_ns < first_ns ? reads_ns : first_ns;
	return first_ns < sink->end_ns ? first_ns : sink->end_ns;
}

/* Told again for every missed time: the reader counts on a grid. */
static int
tell_progress(struct sink *sink, int64_t now_ns)
{
	while (grid_next_ns(&sink->progress) <= now_ns) {
		uint64_t tick = grid_take_next(&sink->progress, now_ns, &sink->progress_lateness);

		if (report_progress(sink, grid_time_ns(&sink->progress, tick)) < 0)
			return -1;
	}
	return 0;
}

static int
count_due(void *owner, int64_t now_ns)
{
	struct sink *sink = owner;

	if (count_next_ns(sink) <= now_ns && sink_flows_read(sink, now_ns) < 0)
		return -1;
	if (grid_next_ns(&sink->reads) <= now_ns)
		grid_take_latest(&sink->reads, now_ns, &sink->reads_lateness);
	if (tell_progress(sink, now_ns) < 0 || close_intervals(sink, now_ns) < 0)
		return -1;
	return now_ns >= sink->end_ns ? finish(sink, now_ns) : 0;
}

static bool
counted(const void *owner)
{
	return ((const struct sink *)owner)->over || all_closed(owner);
}

/*
 * The grid has all intervals but the one in which the end lies; that one stays open until the
 * last reads are done.
 */
static struct grid
interval_ends_before_the_last(const struct config *config, int64_t t0_ns)
{
	int64_t span_ns = config->span_ns + config->drain_ns;
	int64_t intervals = (span_ns + config->interval_ns - 1) / config->interval_ns;

	return (struct grid){
		.origin_ns = t0_ns + config->interval_ns,
		.step_ns = config->interval_ns,
		.count = (uint64_t)intervals - 1,
	};
}

/* Every so often from t0 on, for so long; with step_ns 0 never. */
static struct grid
every(int64_t step_ns, int64_t t0_ns, int64_t span_ns)
{
	if (step_ns == 0)
		return (struct grid){.count = 0};
	return (struct grid){
		.origin_ns = t0_ns + step_ns,
		.step_ns = step_ns,
		.count = (uint64_t)(span_ns / step_ns),
	};
}

static int
count_until_end(struct sink *sink)
{
	static const struct agenda agenda = {count_next_ns, count_due, counted};
	const struct config *config = sink->session.config;
	int64_t t0_ns = sink->session.t0_ns;

	if (!session_t0_known(&sink->session)) /* a signal came first */
		return 0;
	sink->interval_ends = interval_ends_before_the_last(config, t0_ns);
	sink->progress = every(config->progress_ns, t0_ns, config->span_ns);
	sink->end_ns = t0_ns + config->span_ns + config->drain_ns;
	sink->reads = every(config->read_interval_ns, t0_ns, sink->end_ns - t0_ns);
	if (loop_run(&sink->session.loop, &agenda, sink) < 0)
		return -1;
	return sink->over ? 0 : finish(sink, clock_now_ns());
}

/* Each phase returns 0 also when a signal ended it. */
static int
run_phases(struct sink *sink)
{
	if (sink_listen(sink) < 0 || sink_datagrams_open(sink) < 0)
		return -1;
	if (report_listening(sink) < 0)
		return -1;
	if (wait_for_t0(sink) < 0)
		return -1;
	if (count_until_end(sink) < 0)
		return -1;
	if (record_file_close(&sink->goodput, sink->session.failure) < 0 ||
	    record_file_close(&sink->kept_reads, sink->session.failure) < 0 ||
	    record_file_close(&sink->datagrams, sink->session.failure) < 0)
		return -1;
	if (report_end(sink) < 0)
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
