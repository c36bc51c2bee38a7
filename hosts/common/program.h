/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The command line of a program: options with long names, of which the first must be given. */
#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

#define PROGRAM_OPTIONS_MAX 8

/* A list of them ends with {0}. */
struct program_option {
	const char *name;
	const char *value_name; /* NULL: a flag */
	const char *help;
	const char *value; /* what was given, of a flag its name; NULL: it was not */
};

/* Take what is given. A command line that cannot be taken ends the program with EXIT_STATUS_CONFIG;
 * --help ends it, too. What follows \v in `doc` stands below the options.
 */
void program_options(int argc, char **argv, const char *doc, struct program_option *options);

#endif
