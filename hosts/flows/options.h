/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#ifndef FLOWS_OPTIONS_H
#define FLOWS_OPTIONS_H

#include "common/failure.h"

enum action {
	ACTION_RUN,
	ACTION_CHECK,
	ACTION_LAYOUTS,
	ACTION_HELP,
};

struct options {
	enum action action;
	const char *config_path;
};

int options_parse(struct options *options, int argc, char **argv, struct failure *failure);
void options_print_help(void);

#endif
