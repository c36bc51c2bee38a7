/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * One error of a program: what it says to a person, in one line, and the exit status it ends with.
 * A function that can fail takes a struct failure and returns -1 (or NULL) with it filled in.
 */
#ifndef COMMON_FAILURE_H
#define COMMON_FAILURE_H

#include "common/shared.h"

/* The exit status of every nashbed program. */
enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_CONFIG = EXIT_CONFIG,
	EXIT_STATUS_TARGET = EXIT_TARGET, /* the P4 program */
	EXIT_STATUS_HOST = EXIT_HOST,
	EXIT_STATUS_INTERNAL = EXIT_INTERNAL,
	EXIT_STATUS_SIGNAL_BASE = 128, /* plus the signal's number */
};

struct failure {
	enum exit_status status; /* EXIT_STATUS_OK: nothing has failed */
	char text[768];
};

/*
 * Fill in the failure, unless an earlier one is there already; always returns -1. Messages quote
 * what others wrote (keys, paths, names): control characters, and bytes of a character that was
 * cut in two, become question marks, so that the text is one line of valid UTF-8.
 */
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
