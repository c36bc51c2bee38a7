/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#ifndef NASHBED_OPTIONS_H
#define NASHBED_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/failure.h"

struct options {
	const char *config;
	const char *capture; /* to replay; NULL: none */
	const char *out;
	const char *bench; /* what to time; NULL: nothing */
	bool check;
	bool devices;
	bool help;
};

int options_parse(struct options *options, char **argv, struct failure *failure);

/* A replay or a measurement of speed: neither ports nor a clock. */
bool options_offline(const struct options *options);

void options_print_usage(FILE *stream);

#endif
