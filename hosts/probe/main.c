/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-probe: frames of exact size at exact times, and their reflection. See ../README.md. */
#include <argp.h>

#include "common/events.h"
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

enum {
	OPTION_CONFIG = 256,
};

static const struct argp_option options[] = {
	{"config", OPTION_CONFIG, "FILE", 0, "the role and its sockets, as JSON", 0},
	{0},
};

static error_t
take_option(int key, char *value, struct argp_state *state)
{
	const char **config_path = state->input;

	switch (key) {
	case OPTION_CONFIG:
		*config_path = value;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unknown argument %.64s", value);
		return 0;
	case ARGP_KEY_END:
		if (*config_path == NULL)
			argp_error(state, "--config FILE is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

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
	static const struct argp argp = {
		.options = options,
		.parser = take_option,
		.args_doc = "--config=FILE",
		.doc = doc,
	};
	struct failure failure = {0};
	const char *config_path = NULL;

	argp_err_exit_status = EXIT_STATUS_CONFIG;
	argp_parse(&argp, argc, argv, 0, NULL, &config_path);
	return run(config_path, &failure) == 0 ? EXIT_STATUS_OK :
						 event_print_failure(&failure, "nashbed-probe");
}
