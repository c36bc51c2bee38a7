/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "common/options.h"

static const char usage[] =
	"usage: nashbed-dataplane --config FILE [--check | --devices]\n"
	"       nashbed-dataplane --config FILE --replay CAPTURE --out DIR\n"
	"       nashbed-dataplane --config FILE --bench PACKETS[,FLOWS[,BURST]]\n"
	"\n"
	"  --config FILE     the generated JSON configuration\n"
	"  --check           read it, print the effective configuration, and end\n"
	"  --devices         print the EAL's arguments that open its ports, and end: with\n"
	"                    them another DPDK program opens the same ports\n"
	"  --replay CAPTURE  put a capture through the bottleneck in virtual time\n"
	"  --out DIR         where a replay writes\n"
	"  --bench N,F,B     time N packets of F flows, B at once, through it in memory\n"
	"\n"
	"exit: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal\n"
	"\n"
	"example: nashbed-dataplane --config build/dp.json --replay a.pcap --out out\n";

static const struct option_rule rules[] = {
	{"--config", "FILE", offsetof(struct options, config)},
	{"--replay", "CAPTURE", offsetof(struct options, capture)},
	{"--out", "DIR", offsetof(struct options, out)},
	{"--bench", "PACKETS[,FLOWS[,BURST]]", offsetof(struct options, bench)},
	{"--check", NULL, offsetof(struct options, check)},
	{"--devices", NULL, offsetof(struct options, devices)},
	{"--help", NULL, offsetof(struct options, help)},
};

static const char *
problem(const struct options *o)
{
	if (o->config == NULL)
		return "--config FILE is missing";
	if ((o->capture != NULL) != (o->out != NULL))
		return "--replay and --out go together";
	if (o->bench != NULL && o->capture != NULL)
		return "--bench and --replay exclude each other";
	if (o->devices && options_offline(o))
		return "--devices is for neither --replay nor --bench";
	return NULL;
}

int
options_parse(struct options *options, char **argv, struct failure *failure)
{
	*options = (struct options){0};
	if (options_read("nashbed-dataplane", argv, rules, sizeof(rules) / sizeof(rules[0]),
			 options, failure) < 0)
		return -1;
	if (options->help || problem(options) == NULL)
		return 0;
	return failure_set(failure, EXIT_STATUS_CONFIG, "%s", problem(options));
}

bool
options_offline(const struct options *options)
{
	return options->capture != NULL || options->bench != NULL;
}

void
options_print_usage(FILE *stream)
{
	fputs(usage, stream);
}
