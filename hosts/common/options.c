/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <string.h>

#include "options.h"

static const struct option_rule *
find_rule(const char *name, const struct option_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

int
options_read(const char *program, char **argv, const struct option_rule *rules, size_t count,
	     void *structure, struct failure *failure)
{
	for (char **argument = argv + 1; *argument != NULL; argument++) {
		const struct option_rule *rule = find_rule(*argument, rules, count);
		char *target = (char *)structure + (rule != NULL ? rule->offset : 0);

		if (rule == NULL)
			return failure_set(failure, EXIT_STATUS_CONFIG,
					   "unknown argument %.64s (see %s --help)", *argument,
					   program);
		if (rule->value == NULL) {
			*(bool *)target = true;
			continue;
		}
		if (*++argument == NULL)
			return failure_set(failure, EXIT_STATUS_CONFIG,
					   "%s needs a value: %s (see %s --help)", rule->name,
					   rule->value, program);
		*(const char **)target = *argument;
	}
	return 0;
}
