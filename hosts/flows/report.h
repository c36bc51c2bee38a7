/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the roles' reports that are the same for both. */
#ifndef FLOWS_REPORT_H
#define FLOWS_REPORT_H

#include <jansson.h>

#include "grid.h"
#include "session.h"

/* The last line of a role: "done", or "interrupted" with the signal's name; takes both. */
int report_end(const struct session *session, json_t *flows, json_t *extra);

json_t *report_lateness(const struct lateness *lateness);

#endif
