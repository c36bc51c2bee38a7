/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "program.h"

#include <argp.h>

#include "failure.h"

#define FIRST_KEY 256 /* no character's, so that there are no short names */

static error_t
take(int key, char *value, struct argp_state *state)
{
	struct program_option *options = state->input;

	if (key >= FIRST_KEY && key < FIRST_KEY + PROGRAM_OPTIONS_MAX)
		options[key - FIRST_KEY].value = value ? value : options[key - FIRST_KEY].name;
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "unknown argument %.64s", value);
	else if (key == ARGP_KEY_END && options->value == NULL)
		argp_error(state, "--%s %s is missing", options->name, options->value_name);
	else if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	return 0;
}

void
program_options(int argc, char **argv, const char *doc, struct program_option *options)
{
	struct argp_option table[PROGRAM_OPTIONS_MAX + 1] = {0};
	const struct argp argp = {.options = table, .parser = take, .doc = doc};

	for (int i = 0; options[i].name != NULL; i++)
		table[i] = (struct argp_option){.name = options[i].name,
						.key = FIRST_KEY + i,
						.arg = options[i].value_name,
						.doc = options[i].help};
	argp_err_exit_status = EXIT_STATUS_CONFIG;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
