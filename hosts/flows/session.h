/* SPDX-License-Identifier: Apache-2.0 */
/* What both roles share: the configuration, the loop, the signals that end it, and the start. */
#ifndef FLOWS_SESSION_H
#define FLOWS_SESSION_H

#include "config.h"
#include "loop.h"
#include "orders.h"
#include "signals.h"

struct session {
	const struct config *config;
	struct failure *failure;
	struct loop loop;
	struct signals signals;
	struct orders orders;
};

int session_open(struct session *session, const struct config *config, struct failure *failure);
void session_close(struct session *session);

/* The exit status of a role that did not fail: 0, or 128 + the signal that ended it. */
int session_exit_status(const struct session *session);

#endif
