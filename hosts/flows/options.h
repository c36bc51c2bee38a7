/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#ifndef FLOWS_OPTIONS_H
#define FLOWS_OPTIONS_H

#include <stdbool.h>

#include "common/failure.h"

struct options {
	const char *config_path;
	bool check;
	bool layouts;
	bool help;
};

int options_parse(struct options *options, char **argv, struct failure *failure);
void options_print_help(void);

#endif
