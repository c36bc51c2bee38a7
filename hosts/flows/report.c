/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

int
report_event(json_t *event, struct failure *failure)
{
	int result = json_dumpf(event, stdout, JSON_COMPACT);

	json_decref(event);
	if (result < 0 || fputc('\n', stdout) == EOF || fflush(stdout) != 0)
		return failure_set(failure, EXIT_STATUS_HOST, "stdout: cannot write: %s",
				   strerror(errno));
	return 0;
}

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
	return report_event(event, session->failure);
}

void
report_failure(const struct failure *failure)
{
	struct failure ignored = {0};

	report_event(json_pack("{s:s, s:i, s:s}", "event", "error", "exit", (int)failure->status,
			       "error", failure->text),
		     &ignored);
	fprintf(stderr, "nashbed-flows: %s\n", failure->text);
}

json_t *
report_lateness(const struct lateness *lateness)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)lateness->count, "missed",
			 (json_int_t)lateness->missed, "mean_ns",
			 (json_int_t)lateness_mean_ns(lateness), "max_ns",
			 (json_int_t)lateness->max_ns);
}
