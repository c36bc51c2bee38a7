/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

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

static int
usage_error(struct failure *failure, const char *problem, const char *argument)
{
	return failure_set(failure, EXIT_STATUS_CONFIG, "%s%.64s (see nashbed-flows --help)",
			   problem, argument);
}

static int
parse_argument(struct options *options, char **argv, int *at, struct failure *failure)
{
	const char *argument = argv[*at];

	if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
		options->action = ACTION_HELP;
	} else if (strcmp(argument, "--layouts") == 0) {
		options->action = ACTION_LAYOUTS;
	} else if (strcmp(argument, "--check") == 0) {
		options->action = ACTION_CHECK;
	} else if (strcmp(argument, "--config") == 0) {
		options->config_path = argv[++*at];
		if (options->config_path == NULL)
			return usage_error(failure, "--config needs a file", "");
	} else {
		return usage_error(failure, "unknown argument ", argument);
	}
	return 0;
}

int
options_parse(struct options *options, int argc, char **argv, struct failure *failure)
{
	*options = (struct options){.action = ACTION_RUN};
	for (int at = 1; at < argc; at++)
		if (parse_argument(options, argv, &at, failure) < 0)
			return -1;
	if (options->config_path == NULL && options->action <= ACTION_CHECK)
		return usage_error(failure, "--config FILE is missing", "");
	return 0;
}

void
options_print_help(void)
{
	fputs(help, stdout);
}
