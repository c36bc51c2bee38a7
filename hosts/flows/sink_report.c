/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/events.h"
#include "report.h"
#include "sink.h"

int
sink_report_listening(const struct sink *sink)
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

/* Relative to t0; null for what did not happen, or if t0 never came. */
static json_t *
moment(const struct sink *sink, int64_t t_ns)
{
	const struct orders *orders = &sink->session.orders;

	return t_ns == 0 || !orders_t0_known(orders) ? json_null() :
						       json_integer(t_ns - orders->t0_ns);
}

static json_t *
flow_to_json(const struct sink_flow *flow)
{
	json_t *error = flow->error == 0 ? json_null() : json_string(strerror(flow->error));

	return json_pack("{s:I, s:I, s:o, s:o, s:s, s:o}", "flow", (json_int_t)flow->config->flow,
			 "bytes", (json_int_t)flow->bytes, "first_byte_ns",
			 moment(flow->sink, flow->first_byte_ns), "last_byte_ns",
			 moment(flow->sink, flow->last_byte_ns), "closed", end_name(flow->end),
			 "error", error);
}

/* Payload of each flow so far, in the configuration's order. */
int
sink_report_progress(const struct sink *sink, int64_t t_ns)
{
	json_t *bytes = json_array();

	for (size_t i = 0; i < sink->flow_count; i++)
		json_array_append_new(bytes, json_integer((json_int_t)sink->flows[i].bytes));
	return event_print(json_pack("{s:s, s:I, s:o}", "event", "progress", "t_ns",
				     (json_int_t)(t_ns - sink->session.orders.t0_ns), "bytes",
				     bytes),
			   sink->session.failure);
}

int
sink_report_end(const struct sink *sink)
{
	json_t *flows = json_array();
	json_t *extra =
		json_pack("{s:I, s:I, s:I, s:o}", "strangers", (json_int_t)sink->strangers, "acks",
			  (json_int_t)sink->acks, "segments", (json_int_t)sink->segments,
			  "lateness", report_lateness(&sink->lateness));

	for (size_t i = 0; i < sink->flow_count; i++)
		json_array_append_new(flows, flow_to_json(&sink->flows[i]));
	return report_end(&sink->session, flows, extra);
}
