/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-replay: the bottleneck in virtual time, fed by a capture; and the speed of its path. */
#include <stdio.h>

#include "bench.h"
#include "common/program.h"
#include "pipeline/native.h"
#include "replay.h"

static const char program[] = "nashbed-replay";

static const char doc[] =
	"The bottleneck in virtual time, fed by a capture; or the speed of its packet path.\v"
	"Exit status: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal error.\n"
	"\n"
	"Example: nashbed-replay --config build/replay.json --capture a.pcap --out out\n";

enum {
	CONFIG,
	CAPTURE,
	OUT,
	BENCH,
};

static int
run_bench(const struct config *config, const char *text, struct failure *failure)
{
	struct bench_request request;

	if (bench_request_read(text, &request, failure) < 0)
		return -1;
	return bench_run(config, &request, failure);
}

static int
run(const struct program_option *given, struct failure *failure)
{
	const char *capture = given[CAPTURE].value, *out = given[OUT].value;
	const char *bench = given[BENCH].value;
	static struct config config;
	struct native_note note;
	int result;

	if ((capture != NULL) != (out != NULL) || (capture != NULL) == (bench != NULL))
		return failure_set(
			failure, EXIT_STATUS_CONFIG,
			"give either --capture and --out or --bench; see nashbed-replay --help");
	if (config_read(given[CONFIG].value, true, &config, failure) < 0 ||
	    native_choose(&config, &note, failure) < 0)
		return -1;
	if (bench != NULL)
		result = run_bench(&config, bench, failure);
	else
		result = replay_run(&config, capture, out, failure);
	if (result == 0 && note.text[0] != '\0')
		fprintf(stderr, "%s: %s\n", program, note.text);
	return result;
}

int
main(int argc, char **argv)
{
	struct program_option options[] = {
		[CONFIG] = {"config", "FILE", "the generated JSON configuration", NULL},
		[CAPTURE] = {"capture", "CAPTURE",
			     "put a capture through the bottleneck in virtual time", NULL},
		[OUT] = {"out", "DIR", "where its results go", NULL},
		[BENCH] =
			{"bench", "PACKETS[,FLOWS[,BURST]]",
			 "instead, time PACKETS packets of FLOWS flows, BURST at once, through it "
			 "in memory",
			 NULL},
		{0},
	};
	struct failure failure = {0};

	program_options(argc, argv, doc, options);
	return run(options, &failure) == 0 ? EXIT_STATUS_OK : failure_print(&failure, program);
}
