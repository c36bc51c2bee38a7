/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-probe: frames of exact size at exact times, and their reflection. See ../README.md. */
#include <stdio.h>

#include "common/events.h"
#include "common/options.h"
#include "config.h"
#include "prober.h"
#include "reflector.h"

static const char help[] =
	"usage: nashbed-probe --config FILE.json\n"
	"\n"
	"Role \"prober\" sends the frames of a schedule, each at its time and of its size, after a\n"
	"line on standard input. Role \"reflector\" records every datagram and sends back those\n"
	"that ask for it, until its standard input ends. hosts/README.md describes the files.\n"
	"\n"
	"  { \"role\": \"prober\", \"schedule\": \"/tmp/schedule.bin\", \"out\": \"/tmp\",\n"
	"    \"linger_ns\": 200000000,\n"
	"    \"sockets\": [ { \"local\": \"10.64.0.1\", \"local_port\": 10000,\n"
	"                   \"remote\": \"10.65.0.1\", \"remote_port\": 5001 } ] }\n"
	"\n"
	"Exit status: 0 done, 2 configuration, 4 host (sockets, disk, addresses).\n";

static int
run(const char *path, struct failure *failure)
{
	struct config config;
	int result = config_load(&config, path, failure);

	if (result == 0)
		result = config.role == ROLE_PROBER ? prober_run(&config, failure) :
						      reflector_run(&config, failure);
	config_free(&config);
	return result;
}

struct options {
	const char *config_path;
	bool help;
};

static const struct option_rule rules[] = {
	{"--config", "FILE", offsetof(struct options, config_path)},
	{"--help", NULL, offsetof(struct options, help)},
};

static int
act(char **argv, struct failure *failure)
{
	struct options options = {0};

	if (options_read("nashbed-probe", argv, rules, sizeof(rules) / sizeof(rules[0]), &options,
			 failure) < 0)
		return -1;
	if (options.help) {
		fputs(help, stdout);
		return 0;
	}
	if (options.config_path == NULL)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "--config FILE is missing (see nashbed-probe --help)");
	return run(options.config_path, failure);
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};

	(void)argc;
	return act(argv, &failure) == 0 ? EXIT_STATUS_OK :
					  event_print_failure(&failure, "nashbed-probe");
}
