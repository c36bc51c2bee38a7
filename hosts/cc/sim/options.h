/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CC_SIM_OPTIONS_H
#define CC_SIM_OPTIONS_H

#include "common/failure.h"

#include "network.h"

#define SIM_FLOWS_MAX 256

struct sim_options {
	struct sim_path path;
	u64 duration_ns, warmup_ns, seed;
	u64 sample_ns; /* 0: no samples */
	char **kinds;  /* "PATH.so", "PATH.so:2", "cubic:8" */
	bool wants_help;
};

int sim_options_read(struct sim_options *options, int count, char **arguments,
		     struct failure *failure);

extern const char sim_usage[];

#endif
