/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says on stdout: one JSON object per line, each with an "event". */
#ifndef FLOWS_REPORT_H
#define FLOWS_REPORT_H

#include <jansson.h>

#include "grid.h"
#include "session.h"

/* Print the event as one line at once; takes the reference to it. */
int report_event(json_t *event, struct failure *failure);

/* The last line of a role: "done", or "interrupted" with the signal's name; takes both. */
int report_end(const struct session *session, json_t *flows, json_t *extra);

void report_failure(const struct failure *failure);

json_t *report_lateness(const struct lateness *lateness);

#endif
