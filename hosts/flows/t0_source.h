/* SPDX-License-Identifier: Apache-2.0 */
/* The common start of the trial: from the configuration, or one line {"t0_ns": N} on stdin. */
#ifndef FLOWS_T0_SOURCE_H
#define FLOWS_T0_SOURCE_H

#include <stddef.h>

#include "config.h"
#include "loop.h"

struct t0_source {
	struct watch watch;
	struct loop *loop;
	int64_t t0_ns; /* T0_FROM_STDIN until it is known */
	char line[128];
	size_t used;
};

/* Watches stdin if the configuration leaves t0 open. */
int t0_source_open(struct t0_source *source, const struct config *config, struct loop *loop);

bool t0_source_known(const struct t0_source *source);

#endif
