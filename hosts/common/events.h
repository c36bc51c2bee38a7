/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a program says on standard output: one JSON object per line, each with an "event". */
#ifndef COMMON_EVENTS_H
#define COMMON_EVENTS_H

#include <jansson.h>

#include "failure.h"

/* Print the event as one line at once; takes the reference to it. */
int event_print(json_t *event, struct failure *failure);

/* An event "error", and the line on standard error; returns the exit status. */
int event_print_failure(const struct failure *failure, const char *program);

#endif
