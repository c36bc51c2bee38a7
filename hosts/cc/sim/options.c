/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "options.h"

const char sim_usage[] =
	"usage: nashbed-cc-sim [OPTION...] CONTROL[:FLOWS]...\n"
	"\n"
	"Flows of congestion controls share a drop-tail bottleneck in virtual time. A CONTROL is a\n"
	"shared object that is made of its C file with -DCC_SIM, or cubic.\n"
	"\n"
	"  --rate-bps N      the bottleneck's rate, frames of 1514 bytes (default 50000000)\n"
	"  --rtt-ns N        base RTT (default 40000000)\n"
	"  --buffer-bytes N  the bottleneck's buffer (default 500000)\n"
	"  --duration-ns N   how long (default 30000000000)\n"
	"  --warmup-ns N     what is not counted at the beginning (default 5000000000)\n"
	"  --mark-bytes N    with more than this queued, segments of controls that need ECN are\n"
	"                    marked (default 0: none are)\n"
	"  --seed N          of starts, random loss and the controls' random numbers (default 1)\n"
	"  --loss-ppm N      segments in a million that are lost at random (default 0)\n"
	"  --sample-ns N     a sample of each flow so often (default 0: none)\n"
	"  --help            this text\n"
	"\n"
	"Example: one BBRv3 flow against nine of CUBIC\n"
	"  nashbed-cc-sim --rate-bps 100000000 --buffer-bytes 1000000 build/hosts/cc/bbr3.so cubic:9\n";

enum {
	RATE = 256,
	RTT,
	BUFFER,
	DURATION,
	WARMUP,
	SEED,
	LOSS,
	SAMPLE,
	MARK,
	HELP,
};

static const struct option options_table[] = {
	{"rate-bps", required_argument, NULL, RATE},
	{"rtt-ns", required_argument, NULL, RTT},
	{"buffer-bytes", required_argument, NULL, BUFFER},
	{"duration-ns", required_argument, NULL, DURATION},
	{"warmup-ns", required_argument, NULL, WARMUP},
	{"seed", required_argument, NULL, SEED},
	{"loss-ppm", required_argument, NULL, LOSS},
	{"sample-ns", required_argument, NULL, SAMPLE},
	{"mark-bytes", required_argument, NULL, MARK},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static u64 *
number_of(struct sim_options *options, int option)
{
	u64 *const numbers[] = {&options->path.rate_bps,     &options->path.rtt_ns,
				&options->path.buffer_bytes, &options->duration_ns,
				&options->warmup_ns,	     &options->seed,
				&options->path.loss_ppm,     &options->sample_ns,
				&options->path.mark_bytes};

	return numbers[option - RATE];
}

static int
read_number(const char *name, const char *text, u64 *number, struct failure *failure)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *text == '-')
		return failure_set(failure, EXIT_STATUS_CONFIG, "--%s: %.40s is no whole number",
				   name, text);
	return 0;
}

static int
check(const struct sim_options *options, struct failure *failure)
{
	if (options->path.rate_bps == 0 || options->path.rtt_ns == 0)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "--rate-bps and --rtt-ns must be more than 0");
	if (options->path.buffer_bytes < SIM_FRAME_BYTES)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "--buffer-bytes: a frame has %d bytes", SIM_FRAME_BYTES);
	if (options->warmup_ns >= options->duration_ns)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "--warmup-ns must be less than --duration-ns");
	if (*options->kinds == NULL)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "no congestion control is named (see nashbed-cc-sim --help)");
	return 0;
}

int
sim_options_read(struct sim_options *options, int count, char **arguments, struct failure *failure)
{
	int option;

	*options = (struct sim_options){
		.path = {.rate_bps = 50000000, .rtt_ns = 40000000, .buffer_bytes = 500000},
		.duration_ns = 30000000000,
		.warmup_ns = 5000000000,
		.seed = 1};
	opterr = 0;
	while ((option = getopt_long(count, arguments, "", options_table, NULL)) != -1) {
		if (option == HELP) {
			options->wants_help = true;
			return 0;
		}
		if (option < RATE)
			return failure_set(failure, EXIT_STATUS_CONFIG,
					   "unknown argument %.64s (see nashbed-cc-sim --help)",
					   arguments[optind - 1]);
		if (read_number(options_table[option - RATE].name, optarg,
				number_of(options, option), failure) < 0)
			return -1;
	}
	options->kinds = arguments + optind;
	return check(options, failure);
}
