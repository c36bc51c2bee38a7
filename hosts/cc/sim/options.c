/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
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

static const struct {
	const char *name;
	size_t offset; /* in struct sim_options */
	u64 usual;
} numbers[] = {
#define NUMBER(name, member, usual)                                                                \
	{                                                                                          \
		name, offsetof(struct sim_options, member), usual                                  \
	}
	NUMBER("rate-bps", path.rate_bps, 50000000),
	NUMBER("rtt-ns", path.rtt_ns, 40000000),
	NUMBER("buffer-bytes", path.buffer_bytes, 500000),
	NUMBER("duration-ns", duration_ns, 30000000000),
	NUMBER("warmup-ns", warmup_ns, 5000000000),
	NUMBER("seed", seed, 1),
	NUMBER("loss-ppm", path.loss_ppm, 0),
	NUMBER("sample-ns", sample_ns, 0),
	NUMBER("mark-bytes", path.mark_bytes, 0),
};

#define COUNT ((int)(sizeof(numbers) / sizeof(numbers[0])))
#define FIRST 256 /* no character's */

static u64 *
number_at(struct sim_options *options, int index)
{
	return (u64 *)((char *)options + numbers[index].offset);
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
	struct option table[COUNT + 2] = {[COUNT] = {"help", no_argument, NULL, FIRST + COUNT}};
	int option;

	*options = (struct sim_options){0};
	for (int i = 0; i < COUNT; i++) {
		table[i] = (struct option){numbers[i].name, required_argument, NULL, FIRST + i};
		*number_at(options, i) = numbers[i].usual;
	}
	opterr = 0;
	while ((option = getopt_long(count, arguments, "", table, NULL)) != -1) {
		options->wants_help = option == FIRST + COUNT;
		if (options->wants_help)
			return 0;
		if (option < FIRST)
			return failure_set(failure, EXIT_STATUS_CONFIG,
					   "unknown argument %.64s (see nashbed-cc-sim --help)",
					   arguments[optind - 1]);
		if (read_number(table[option - FIRST].name, optarg,
				number_at(options, option - FIRST), failure) < 0)
			return -1;
	}
	options->kinds = arguments + optind;
	return check(options, failure);
}
