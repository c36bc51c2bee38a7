/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "common/options.h"

static const char usage[] =
	"usage: nashbed-dataplane --config FILE [--check | --devices]\n"
	"\n"
	"  --config FILE     the generated JSON configuration\n"
	"  --check           read it, print the effective configuration, and end\n"
	"  --devices         print the EAL's arguments that open its ports, and end: with\n"
	"                    them another DPDK program opens the same ports\n"
	"\n"
	"exit: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal\n"
	"\n"
	"example: nashbed-dataplane --config build/dp.json --check\n";

static const struct option_rule rules[] = {
	{"--config", "FILE", offsetof(struct options, config)},
	{"--check", NULL, offsetof(struct options, check)},
	{"--devices", NULL, offsetof(struct options, devices)},
	{"--help", NULL, offsetof(struct options, help)},
};

int
options_parse(struct options *options, char **argv, struct failure *failure)
{
	*options = (struct options){0};
	if (options_read("nashbed-dataplane", argv, rules, sizeof(rules) / sizeof(rules[0]),
			 options, failure) < 0)
		return -1;
	if (options->help || options->config != NULL)
		return 0;
	return failure_set(failure, EXIT_STATUS_CONFIG, "--config FILE is missing");
}

void
options_print_usage(FILE *stream)
{
	fputs(usage, stream);
}
