/* SPDX-License-Identifier: Apache-2.0 */
/* One error of the program: what it says to a person and the exit code it ends with. */
#ifndef COMMON_FAILURE_H
#define COMMON_FAILURE_H

#include "exit_status.h"

struct failure {
	enum exit_status status;
	char text[768];
};

/* Fill in the failure, unless it already tells an earlier one; always returns -1. */
int failure_set(struct failure *failure, enum exit_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
