/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "common/options.h"
#include "options.h"

static const char help[] =
	"usage: nashbed-flows --config FILE.json [--check]\n"
	"       nashbed-flows --layouts | --help\n"
	"\n"
	"Sends, or receives, bulk data over many kernel TCP flows with a congestion control each.\n"
	"\n"
	"  --config FILE  the role, the flows and the times, as JSON\n"
	"  --check        only check the configuration and print it with all defaults\n"
	"  --layouts      print the layouts of the binary outputs as JSON\n"
	"  --help         print this text\n"
	"\n"
	"Example: a BBR flow for 10 s. The sink (\"role\": \"sink\", the same otherwise) goes first;\n"
	"each prints one JSON line when it is ready for the start time on its standard input.\n"
	"\n"
	"  { \"role\": \"sender\", \"lane\": 0, \"duration_ns\": 10000000000, \"out\": \"/tmp/trial\",\n"
	"    \"flows\": [ { \"flow\": 0, \"group\": 0, \"cc\": \"bbr\", \"start_ns\": 0,\n"
	"                 \"src\": \"10.64.0.1\", \"sport\": 10000,\n"
	"                 \"dst\": \"10.65.0.1\", \"dport\": 5001 } ] }\n"
	"\n"
	"  {\"t0_ns\": 123456789000000}      (CLOCK_MONOTONIC, the same line for both)\n"
	"\n"
	"Exit status: 0 done, 2 configuration, 4 host (sockets, disk, addresses), 5 internal error,\n"
	"128 + n ended by signal n.\n";

static const struct option_rule rules[] = {
	{"--config", "FILE", offsetof(struct options, config_path)},
	{"--check", NULL, offsetof(struct options, check)},
	{"--layouts", NULL, offsetof(struct options, layouts)},
	{"--help", NULL, offsetof(struct options, help)},
	{"-h", NULL, offsetof(struct options, help)},
};

int
options_parse(struct options *options, char **argv, struct failure *failure)
{
	*options = (struct options){0};
	if (options_read("nashbed-flows", argv, rules, sizeof(rules) / sizeof(rules[0]), options,
			 failure) < 0)
		return -1;
	if (options->config_path == NULL && !options->layouts && !options->help)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "--config FILE is missing (see nashbed-flows --help)");
	return 0;
}

void
options_print_help(void)
{
	fputs(help, stdout);
}
