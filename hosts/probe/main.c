/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-probe: frames of exact size at exact times, and their reflection. See ../README.md. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "config.h"
#include "prober.h"
#include "reflector.h"

static const char help[] =
	"usage: nashbed-probe --config FILE.json\n"
	"\n"
	"Role \"prober\" sends the frames of a schedule, each at its time and of its size, after a\n"
	"line on standard input. Role \"reflector\" notes every datagram and sends back those that\n"
	"ask for it, until its standard input ends. hosts/README.md says what the files hold.\n"
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

static int
fail(const struct failure *failure)
{
	json_t *event = json_pack("{s:s, s:i, s:s}", "event", "error", "exit", (int)failure->status,
				  "error", failure->text);

	json_dumpf(event, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(event);
	fprintf(stderr, "nashbed-probe: %s\n", failure->text);
	return (int)failure->status;
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return EXIT_STATUS_OK;
	}
	if (argc != 3 || strcmp(argv[1], "--config") != 0)
		failure_set(&failure, EXIT_STATUS_CONFIG,
			    "--config FILE is missing (see nashbed-probe --help)");
	else
		run(argv[2], &failure);
	return failure.status == EXIT_STATUS_OK ? EXIT_STATUS_OK : fail(&failure);
}
