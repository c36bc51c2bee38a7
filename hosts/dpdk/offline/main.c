/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-replay: the bottleneck in virtual time, fed by a capture; and the speed of its path. */
#include <stdio.h>

#include "bench.h"
#include "options.h"
#include "pipeline/native.h"
#include "replay.h"

static const char program[] = "nashbed-replay";

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
	struct failure failure = {0};
	struct options options;

	(void)argc;
	if (options_parse(&options, argv, &failure) < 0) {
		options_print_usage(stderr);
		return failure_print(&failure, program);
	}
	if (options.help) {
		options_print_usage(stdout);
		return EXIT_STATUS_OK;
	}
	return run(&options, &failure) == 0 ? EXIT_STATUS_OK : failure_print(&failure, program);
}
