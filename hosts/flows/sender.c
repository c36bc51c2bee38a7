/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender as a list of phases: open every socket, connect, report that, wait for t0, transmit
 * until the end, report. (iperf3 processes connect after t0.)
 */
#include "sender.h"

#include <string.h>

#include "common/clock.h"
#include "common/events.h"
#include "sender_applications.h"
#include "sender_connect.h"
#include "sender_flow.h"
#include "sender_process.h"
#include "sender_transfers.h"
#include "sender_transmit.h"

/* null for a flow that is not connected yet: iperf3's are connected after t0. */
static json_t *
handshake(const struct sender_flow *flow)
{
	return flow->connected_ns == 0 ? json_null() :
					 json_integer(flow->connected_ns - flow->connecting_ns);
}

/* Said only of a flow that has ECN, as of every other fact that most flows lack. */
static json_t *
with_ecn(json_t *object, const struct sender_flow *flow)
{
	if (flow->has_ecn)
		json_object_set_new(object, "ecn", json_true());
	return object;
}

static json_t *
ready_to_json(const struct sender_flow *flow)
{
	return with_ecn(json_pack("{s:I, s:s, s:o}", "flow", (json_int_t)flow->config->flow,
				  "cc_applied", flow->cc_applied, "handshake_ns", handshake(flow)),
			flow);
}

static int
report_ready(const struct sender_flows *all)
{
	json_t *flows;

	if (all->session.loop.stop_signal != 0)
		return 0;
	flows = json_array();
	for (size_t i = 0; i < all->count; i++)
		if (!sender_flow_is_transfer(&all->flows[i]))
			json_array_append_new(flows, ready_to_json(&all->flows[i]));
	return event_print(json_pack("{s:s, s:i, s:o}", "event", "ready", "notsent_lowat_bytes",
				     (int)all->unsent_bytes, "flows", flows),
			   all->session.failure);
}

static json_t *
flow_to_json(const struct sender_flow *flow)
{
	const struct session *session = &flow->all->session;
	json_t *min_rtt =
		flow->min_rtt_us == UINT32_MAX ? json_null() : json_integer(flow->min_rtt_us);
	json_t *error = flow->error == 0 ? json_null() : json_string(strerror(flow->error));

	return with_ecn(
		json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
			  "flow", (json_int_t)flow->config->flow, "cc_applied", flow->cc_applied,
			  "connect_ns", session_moment(session, flow->connected_ns), "handshake_ns",
			  handshake(flow), "start_ns", session_moment(session, flow->started_ns),
			  "end_ns", session_moment(session, flow->ended_ns), "bytes_acked",
			  (json_int_t)flow->last.bytes_acked, "bytes_sent",
			  (json_int_t)flow->last.bytes_sent, "bytes_retrans",
			  (json_int_t)flow->last.bytes_retrans, "total_retrans",
			  (json_int_t)flow->last.total_retrans, "notsent_bytes",
			  (json_int_t)flow->last.notsent_bytes, "min_rtt_us", min_rtt, "error",
			  error),
		flow);
}

static int
report_end(const struct sender_flows *all)
{
	json_t *flows = json_array();
	json_t *extra = json_pack("{s:I, s:o}", "lost", (json_int_t)all->lost, "lateness",
				  lateness_to_json(&all->lateness));

	for (size_t i = 0; i < all->count; i++)
		json_array_append_new(flows, flow_to_json(&all->flows[i]));
	return session_report_end(&all->session, flows, extra);
}

static bool
t0_known(const void *owner)
{
	return session_t0_known(owner);
}

static int
wait_for_t0(struct session *session)
{
	static const struct agenda agenda = {.finished = t0_known};
	int64_t late_ns;

	if (loop_run(&session->loop, &agenda, session) < 0)
		return -1;
	late_ns = clock_now_ns() - session->t0_ns;
	if (session->loop.stop_signal == 0 && late_ns > 0)
		return failure_set(session->failure, EXIT_STATUS_HOST,
				   "t0 was %.3f ms before the flows were ready; set it later",
				   (double)late_ns / MILLISECOND_NS);
	return 0;
}

/* Each phase returns 0 also when a signal ended it. */
static int
run_phases(struct sender_flows *all, struct processes *processes, struct applications *applications,
	   struct transfers *transfers)
{
	if (sender_flows_open_sockets(all) < 0)
		return -1;
	if (all->session.config->n_controls == 0 && sender_connect_all(all) < 0)
		return -1;
	if (report_ready(all) < 0)
		return -1;
	if (wait_for_t0(&all->session) < 0)
		return -1;
	if (sender_transmit(all, processes, applications, transfers) < 0)
		return -1;
	if (applications_finish(applications) < 0 || transfers_finish(transfers) < 0)
		return -1;
	if (record_file_close(&all->samples, all->session.failure) < 0)
		return -1;
	if (report_end(all) < 0)
		return -1;
	return session_exit_status(&all->session);
}

int
sender_run(const struct config *config, struct failure *failure)
{
	struct processes processes = {0};
	struct applications applications = APPLICATIONS_CLOSED;
	struct transfers transfers = {0};
	struct sender_flows all;
	int status = -1;

	if (sender_flows_open(&all, config, failure) == 0 &&
	    processes_form(&processes, &all) == 0 && applications_open(&applications, &all) == 0 &&
	    transfers_open(&transfers, &all) == 0)
		status = run_phases(&all, &processes, &applications, &transfers);
	transfers_close(&transfers);
	applications_close(&applications);
	processes_free(&processes);
	sender_flows_close(&all);
	return status;
}
