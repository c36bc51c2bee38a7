/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-probe: frames of exact size at exact times, and their reflection. See ../README.md. */
#include "common/events.h"
#include "common/program.h"
#include "config.h"
#include "roles.h"

static const char doc[] =
	"Role \"prober\" sends the frames of a schedule, each at its time and of its size, after a "
	"line on standard input. Role \"reflector\" records every datagram and sends back those "
	"that ask for it, until its standard input ends. hosts/README.md describes the files.\v"
	"Example:\n"
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

int
main(int argc, char **argv)
{
	struct program_option options[] = {
		{"config", "FILE", "the role and its sockets, as JSON", NULL},
		{0},
	};
	struct failure failure = {0};

	program_options(argc, argv, doc, options);
	return run(options[0].value, &failure) == 0 ?
		       EXIT_STATUS_OK :
		       event_print_failure(&failure, "nashbed-probe");
}
