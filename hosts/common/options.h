/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Strict reading of a command line into a C structure, driven by a table of its options. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "failure.h"

struct option_rule {
	const char *name;  /* "--config" */
	const char *value; /* what must follow, by the usage's name for it; NULL: nothing */
	size_t offset;	   /* in the structure, of a const char * or, without a value, a bool */
};

/*
 * An argument that is not in the table, or a value that is missing, is one line that names it and
 * the program's --help.
 */
int options_read(const char *program, char **argv, const struct option_rule *rules, size_t count,
		 void *structure, struct failure *failure);

#endif
