/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is ordered while the program runs: the common start (unless the configuration has it), and
 * then perhaps an end that is earlier than the configured one. One line {"t0_ns": N} and one line
 * {"end_ns": N} on stdin.
 */
#ifndef FLOWS_ORDERS_H
#define FLOWS_ORDERS_H

#include <stddef.h>

#include "config.h"
#include "loop.h"

struct orders {
	struct watch watch;
	struct loop *loop;
	int64_t t0_ns;	/* T0_FROM_STDIN until it is known */
	int64_t end_ns; /* NEVER until an end is ordered */
	char line[128];
	size_t used;
};

/* Watches stdin if the configuration leaves t0 open. */
int orders_open(struct orders *orders, const struct config *config, struct loop *loop);

bool orders_t0_known(const struct orders *orders);

#endif
