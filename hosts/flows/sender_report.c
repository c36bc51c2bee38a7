/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/events.h"
#include "report.h"
#include "sender.h"

/* null for a flow that is not connected yet: iperf3's are connected after t0. */
static json_t *
handshake(const struct sender_flow *flow)
{
	return flow->connected_ns == 0 ? json_null() :
					 json_integer(flow->connected_ns - flow->connecting_ns);
}

static json_t *
ready_to_json(const struct sender_flow *flow)
{
	return json_pack("{s:I, s:s, s:o}", "flow", (json_int_t)flow->config->flow, "cc_applied",
			 flow->cc_applied, "handshake_ns", handshake(flow));
}

int
sender_report_ready(const struct sender *sender)
{
	json_t *flows = json_array();

	if (sender->session.loop.stop_signal != 0) {
		json_decref(flows);
		return 0;
	}
	for (size_t i = 0; i < sender->flow_count; i++)
		json_array_append_new(flows, ready_to_json(&sender->flows[i]));
	return event_print(json_pack("{s:s, s:i, s:o}", "event", "ready", "notsent_lowat_bytes",
				     (int)sender->unsent_bytes, "flows", flows),
			   sender->session.failure);
}

/* Relative to t0; null for what did not happen, or if t0 never came. */
static json_t *
moment(const struct sender *sender, int64_t t_ns)
{
	const struct orders *orders = &sender->session.orders;

	return t_ns == 0 || !orders_t0_known(orders) ? json_null() :
						       json_integer(t_ns - orders->t0_ns);
}

static json_t *
flow_to_json(const struct sender_flow *flow)
{
	const struct sender *sender = flow->sender;
	json_t *min_rtt =
		flow->min_rtt_us == UINT32_MAX ? json_null() : json_integer(flow->min_rtt_us);
	json_t *error = flow->error == 0 ? json_null() : json_string(strerror(flow->error));

	return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
			 "flow", (json_int_t)flow->config->flow, "cc_applied", flow->cc_applied,
			 "connect_ns", moment(sender, flow->connected_ns), "handshake_ns",
			 handshake(flow), "start_ns", moment(sender, flow->started_ns), "end_ns",
			 moment(sender, flow->ended_ns), "bytes_acked",
			 (json_int_t)flow->last.bytes_acked, "bytes_sent",
			 (json_int_t)flow->last.bytes_sent, "bytes_retrans",
			 (json_int_t)flow->last.bytes_retrans, "total_retrans",
			 (json_int_t)flow->last.total_retrans, "notsent_bytes",
			 (json_int_t)flow->last.notsent_bytes, "min_rtt_us", min_rtt, "error",
			 error);
}

int
sender_report_end(const struct sender *sender)
{
	json_t *flows = json_array();
	json_t *extra = json_pack("{s:I, s:o}", "lost", (json_int_t)sender->lost, "lateness",
				  report_lateness(&sender->lateness));

	for (size_t i = 0; i < sender->flow_count; i++)
		json_array_append_new(flows, flow_to_json(&sender->flows[i]));
	return report_end(&sender->session, flows, extra);
}
