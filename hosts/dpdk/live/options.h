/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#ifndef NASHBED_OPTIONS_H
#define NASHBED_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/failure.h"

struct options {
	const char *config;
	bool check;
	bool devices;
	bool help;
};

int options_parse(struct options *options, char **argv, struct failure *failure);

void options_print_usage(FILE *stream);

#endif
