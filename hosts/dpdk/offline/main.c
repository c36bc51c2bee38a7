/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-replay: the bottleneck in virtual time, fed by a capture; and the speed of its path. */
#include <argp.h>
#include <stdio.h>

#include "bench.h"
#include "pipeline/native.h"
#include "replay.h"

static const char program[] = "nashbed-replay";

static const char doc[] =
	"The bottleneck in virtual time, fed by a capture; or the speed of its packet path.\v"
	"Exit status: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal error.\n"
	"\n"
	"Example: nashbed-replay --config build/replay.json --capture a.pcap --out out\n";

enum {
	OPTION_CONFIG = 256,
	OPTION_CAPTURE,
	OPTION_OUT,
	OPTION_BENCH,
};

static const struct argp_option option_table[] = {
	{"config", OPTION_CONFIG, "FILE", 0, "the generated JSON configuration", 0},
	{"capture", OPTION_CAPTURE, "CAPTURE", 0,
	 "put a capture through the bottleneck in virtual time", 0},
	{"out", OPTION_OUT, "DIR", 0, "where the results go", 0},
	{"bench", OPTION_BENCH, "PACKETS[,FLOWS[,BURST]]", 0,
	 "time PACKETS packets of FLOWS flows, BURST at once, through it in memory", 0},
	{0},
};

struct options {
	const char *config;
	const char *capture; /* NULL: nothing to replay */
	const char *out;
	const char *bench; /* what to time; NULL: nothing */
};

static const char *
problem(const struct options *o)
{
	if (o->config == NULL)
		return "--config FILE is missing";
	if ((o->capture != NULL) != (o->out != NULL))
		return "--capture and --out go together";
	if ((o->capture != NULL) == (o->bench != NULL))
		return "give either --capture and --out or --bench";
	return NULL;
}

static error_t
take_option(int key, char *value, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_CONFIG:
		options->config = value;
		return 0;
	case OPTION_CAPTURE:
		options->capture = value;
		return 0;
	case OPTION_OUT:
		options->out = value;
		return 0;
	case OPTION_BENCH:
		options->bench = value;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unknown argument %.64s", value);
		return 0;
	case ARGP_KEY_END:
		if (problem(options) != NULL)
			argp_error(state, "%s", problem(options));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
run_bench(const struct config *config, const char *text, struct failure *failure)
{
	struct bench_request request;

	if (bench_request_read(text, &request, failure) < 0)
		return -1;
	return bench_run(config, &request, failure);
}

static int
run(const struct options *o, struct failure *failure)
{
	static struct config config;
	struct native_note note;
	int result;

	if (config_read(o->config, true, &config, failure) < 0 ||
	    native_choose(&config, &note, failure) < 0)
		return -1;
	if (o->bench != NULL)
		result = run_bench(&config, o->bench, failure);
	else
		result = replay_run(&config, o->capture, o->out, failure);
	if (result == 0 && note.text[0] != '\0')
		fprintf(stderr, "%s: %s\n", program, note.text);
	return result;
}

int
main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = take_option,
		.args_doc = "--config=FILE --capture=CAPTURE --out=DIR\n"
			    "--config=FILE --bench=PACKETS[,FLOWS[,BURST]]",
		.doc = doc,
	};
	struct failure failure = {0};
	struct options options = {0};

	argp_err_exit_status = EXIT_STATUS_CONFIG;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	return run(&options, &failure) == 0 ? EXIT_STATUS_OK : failure_print(&failure, program);
}
