/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of nashbed-replay. */
#ifndef NASHBED_OFFLINE_OPTIONS_H
#define NASHBED_OFFLINE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/failure.h"

struct options {
	const char *config;
	const char *capture; /* NULL: nothing to replay */
	const char *out;
	const char *bench; /* what to time; NULL: nothing */
	bool help;
};

int options_parse(struct options *options, char **argv, struct failure *failure);

void options_print_usage(FILE *stream);

#endif
