/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * One error of a program: what it says to a person, in one line, and the exit status it ends with.
 * A function that can fail takes a struct failure and returns -1 (or NULL) with it filled in.
 */
#ifndef COMMON_FAILURE_H
#define COMMON_FAILURE_H

#include "exit_status.h"

struct failure {
	enum exit_status status; /* EXIT_STATUS_OK: nothing has failed */
	char text[768];
};

/* Fill in the failure, unless an earlier one is there already; always returns -1. */
int failure_set(struct failure *failure, enum exit_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add to the text of a failure that is filled in, as far as there is room. */
void failure_append(struct failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Put "context: " in front of a failure that is filled in; always returns -1. */
int failure_add_context(struct failure *failure, const char *context);

/* "program: text" on standard error; returns the exit status. */
int failure_print(const struct failure *failure, const char *program);

#endif
