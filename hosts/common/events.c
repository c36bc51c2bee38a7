/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "events.h"

int
event_print(json_t *event, struct failure *failure)
{
	int result = json_dumpf(event, stdout, JSON_COMPACT);

	json_decref(event);
	if (result < 0 || fputc('\n', stdout) == EOF || fflush(stdout) != 0)
		return failure_set(failure, EXIT_STATUS_HOST, "stdout: cannot write: %s",
				   strerror(errno));
	return 0;
}

int
event_print_failure(const struct failure *failure, const char *program)
{
	struct failure ignored = {0};

	event_print(json_pack("{s:s, s:i, s:s}", "event", "error", "exit", (int)failure->status,
			      "error", failure->text),
		    &ignored);
	return failure_print(failure, program);
}
