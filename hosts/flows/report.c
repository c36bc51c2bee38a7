/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "common/events.h"
#include "report.h"

static const char *
signal_name(int number)
{
	switch (number) {
	case SIGTERM:
		return "SIGTERM";
	case SIGINT:
		return "SIGINT";
	default:
		return "SIGHUP";
	}
}

int
report_end(const struct session *session, json_t *flows, json_t *extra)
{
	int signal_number = session->loop.stop_signal;
	json_t *event = json_pack("{s:s}", "event", signal_number == 0 ? "done" : "interrupted");

	if (signal_number != 0)
		json_object_set_new(event, "signal", json_string(signal_name(signal_number)));
	json_object_update_new(event, extra);
	json_object_set_new(event, "flows", flows);
	return event_print(event, session->failure);
}

json_t *
report_lateness(const struct lateness *lateness)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)lateness->count, "missed",
			 (json_int_t)lateness->missed, "mean_ns",
			 (json_int_t)lateness_mean_ns(lateness), "max_ns",
			 (json_int_t)lateness->max_ns);
}
