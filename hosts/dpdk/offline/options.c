/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "common/options.h"

static const char usage[] =
	"usage: nashbed-replay --config FILE --capture CAPTURE --out DIR\n"
	"       nashbed-replay --config FILE --bench PACKETS[,FLOWS[,BURST]]\n"
	"\n"
	"  --config FILE      the generated JSON configuration\n"
	"  --capture CAPTURE  put a capture through the bottleneck in virtual time\n"
	"  --out DIR          where the results go\n"
	"  --bench N,F,B      time N packets of F flows, B at once, through it in memory\n"
	"\n"
	"exit: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal\n"
	"\n"
	"example: nashbed-replay --config build/replay.json --capture a.pcap --out out\n";

static const struct option_rule rules[] = {
	{"--config", "FILE", offsetof(struct options, config)},
	{"--capture", "CAPTURE", offsetof(struct options, capture)},
	{"--out", "DIR", offsetof(struct options, out)},
	{"--bench", "PACKETS[,FLOWS[,BURST]]", offsetof(struct options, bench)},
	{"--help", NULL, offsetof(struct options, help)},
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

int
options_parse(struct options *options, char **argv, struct failure *failure)
{
	*options = (struct options){0};
	if (options_read("nashbed-replay", argv, rules, sizeof(rules) / sizeof(rules[0]), options,
			 failure) < 0)
		return -1;
	if (options->help || problem(options) == NULL)
		return 0;
	return failure_set(failure, EXIT_STATUS_CONFIG, "%s", problem(options));
}

void
options_print_usage(FILE *stream)
{
	fputs(usage, stream);
}
