/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both roles share: the configuration, the loop, the signals that end it, what is ordered on
 * stdin, and the parts of their reports that are the same.
 *
 * Orders are a line {"t0_ns": N}, the common start, and then perhaps a line {"end_ns": N}, an end that is earlier than the configured one. SIGTERM, SIGINT and
 * SIGHUP end the loop in an orderly way; SIGPIPE is ignored.
 */
#ifndef FLOWS_SESSION_H
#define FLOWS_SESSION_H

#include <jansson.h>

#include "config.h"
#include "grid.h"
#include "loop.h"

#define T0_UNKNOWN INT64_C(-1)

struct session {
	const struct config *config;
	struct failure *failure;
	struct loop loop;
	struct watch signals;
	struct watch orders;
	char line[128]; /* the beginning of an order */
	size_t used;
	int service;	/* of the guest's kernel (served.h); -1: none */
	int64_t t0_ns;	/* T0_UNKNOWN until it is ordered */
	int64_t end_ns; /* NEVER until an end is ordered */
};

int session_open(struct session *session, const struct config *config, struct failure *failure);
void session_close(struct session *session);

bool session_t0_known(const struct session *session);

/* The exit status of a role that did not fail: 0, or 128 + the signal that ended it. */
int session_exit_status(const struct session *session);

/* The last line of a role: "done", or "interrupted" with the signal's name; takes both. */
int session_report_end(const struct session *session, json_t *flows, json_t *extra);

/* A time relative to t0; null for what did not happen (0), or if t0 never came. */
json_t *session_moment(const struct session *session, int64_t t_ns);

json_t *lateness_to_json(const struct lateness *lateness);

#endif
