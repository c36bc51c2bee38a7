/* SPDX-License-Identifier: Apache-2.0 */
/* One error of the program: what it says to a person and the exit code it ends with. */
#ifndef FLOWS_FAILURE_H
#define FLOWS_FAILURE_H

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_CONFIG = 2,
	EXIT_STATUS_HOST = 4,
	EXIT_STATUS_INTERNAL = 5,
	EXIT_STATUS_SIGNAL_BASE = 128,
};

struct failure {
	enum exit_status status;
	char text[768];
};

/* Fill in the failure, unless it already tells an earlier one; always returns -1. */
int failure_set(struct failure *failure, enum exit_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
