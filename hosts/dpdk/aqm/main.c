/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-aqm: says what parameters a queue discipline or a policy of the memory that queues share
 * has, and sends packets through a discipline.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/aqm_load.h"
#include "core/discipline.h"
#include "core/disciplines.h"
#include "core/policies.h"

static const char doc[] =
	"What parameters a queue discipline has, or what it does with packets.\v"
	"DISCIPLINE is one of ours by its name, or a shared object of your own. `describe` writes a "
	"line of JSON for it, or for each of ours; `policies` likewise for policies of the memory that "
	"several queues share. `pass` reads packets, a line for each: time in "
	"ns, flow, bytes, ECN codepoint; and writes a line for each that comes out: its number, when, "
	"whether it departed, whether it is marked, why it was dropped.\n"
	"Exit status: 0 ok, 2 configuration, 5 internal error.\n"
	"\n"
	"Example: nashbed-aqm pass --rate-bps 10000000 --limit 150000 codel < packets\n";

enum {
	EXIT_WRONG = 2,
	EXIT_FAILED = 5,
	OPTION_RATE = 256,
	OPTION_LIMIT,
	OPTION_SEED,
	OPTION_SET,
	MOST_SET = 32,
	ERROR_BYTES = 512,
};

static const struct argp_option option_table[] = {
	{"rate-bps", OPTION_RATE, "RATE", 0, "of the line, in bit/s", 0},
	{"limit", OPTION_LIMIT, "BYTES", 0, "the queue's hard limit", 0},
	{"seed", OPTION_SEED, "N", 0, "of everything random in it", 0},
	{"set", OPTION_SET, "NAME=VALUE", 0, "a parameter, in ns, bytes, or a part of 1", 0},
	{0},
};

struct options {
	const char *command;
	const char *discipline; /* or policy; NULL: each of ours */
	uint64_t rate_bps;
	uint64_t limit;
	uint64_t seed;
	const char *set[MOST_SET];
	uint32_t n_set;
};

static const char *
problem(const struct options *o)
{
	bool passes = o->command != NULL && strcmp(o->command, "pass") == 0;

	if (!passes && (o->command == NULL || (strcmp(o->command, "describe") != 0 &&
					       strcmp(o->command, "policies") != 0)))
		return "write describe, policies or pass";
	if (passes && (o->discipline == NULL || o->rate_bps == 0 || o->limit == 0))
		return "pass needs --rate-bps, --limit and a discipline";
	return NULL;
}

static error_t
take_option(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPTION_RATE:
		o->rate_bps = strtoull(value, NULL, 10);
		return 0;
	case OPTION_LIMIT:
		o->limit = strtoull(value, NULL, 10);
		return 0;
	case OPTION_SEED:
		o->seed = strtoull(value, NULL, 10);
		return 0;
	case OPTION_SET:
		if (o->n_set == MOST_SET)
			argp_error(state, "--set: too many");
		else
			o->set[o->n_set++] = value;
		return 0;
	case ARGP_KEY_ARG:
		if (o->command == NULL)
			o->command = value;
		else if (o->discipline == NULL)
			o->discipline = value;
		else
			argp_error(state, "unknown argument %.64s", value);
		return 0;
	case ARGP_KEY_END:
		if (problem(o) != NULL)
			argp_error(state, "%s", problem(o));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Names of kinds, by enum aqm_kind. */
static const char *const kind_names[] = {
	[AQM_TIME] = "time",
	[AQM_BYTES] = "bytes",
	[AQM_PACKETS] = "packets",
	[AQM_NUMBER] = "number",
	[AQM_PROBABILITY] = "probability",
	[AQM_REAL] = "real",
	[AQM_FLAG] = "flag",
};

static const struct aqm_ops *
find(const char *discipline)
{
	char why[ERROR_BYTES];
	const struct aqm_ops *ops = aqm_find(discipline);

	if (ops != NULL)
		return ops;
	ops = aqm_load(discipline, why, sizeof(why));
	if (ops == NULL)
		fprintf(stderr, "%s\n", why);
	return ops;
}

static void
describe_text(const char *text)
{
	putchar('"');
	for (; text != NULL && *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar((unsigned char)*text < ' ' ? ' ' : *text);
	}
	putchar('"');
}

static void
describe(const char *name, const char *help, const struct aqm_param *params)
{
	fputs("{\"name\": ", stdout);
	describe_text(name);
	fputs(", \"help\": ", stdout);
	describe_text(help);
	fputs(", \"parameters\": [", stdout);
	for (const struct aqm_param *p = params; p->name != NULL; p++) {
		fputs(p == params ? "{\"name\": " : ", {\"name\": ", stdout);
		describe_text(p->name);
		printf(", \"kind\": \"%s\", ", kind_names[p->kind]);
		if (p->first >= p->min)
			printf("\"default\": %.17g, ", p->first);
		else
			fputs("\"default\": null, ", stdout);
		printf("\"min\": %.17g, \"max\": %.17g, \"help\": ", p->min, p->max);
		describe_text(p->help);
		putchar('}');
	}
	puts("]}");
}

static int
describe_all(const struct options *o)
{
	const struct aqm_ops *ops;

	if (o->discipline == NULL) {
		for (uint32_t i = 0; aqm_disciplines[i] != NULL; i++)
			describe(aqm_disciplines[i]->name, aqm_disciplines[i]->help,
				 aqm_disciplines[i]->params);
		return EXIT_SUCCESS;
	}
	ops = find(o->discipline);
	if (ops == NULL)
		return EXIT_WRONG;
	describe(ops->name, ops->help, ops->params);
	return EXIT_SUCCESS;
}

static int
describe_policies(const struct options *o)
{
	char why[ERROR_BYTES];
	const struct memory_ops *ops;

	if (o->discipline == NULL) {
		for (uint32_t i = 0; memory_policies[i] != NULL; i++)
			describe(memory_policies[i]->name, memory_policies[i]->help,
				 memory_policies[i]->params);
		return EXIT_SUCCESS;
	}
	ops = memory_load(o->discipline, why, sizeof(why));
	if (ops == NULL) {
		fprintf(stderr, "%s\n", why);
		return EXIT_WRONG;
	}
	describe(ops->name, ops->help, ops->params);
	return EXIT_SUCCESS;
}

/* Set the parameters that are given; false with a line for people. */
static bool
set_parameters(const struct options *o, struct discipline_config *config)
{
	for (uint32_t i = 0; i < o->n_set; i++) {
		size_t length = strcspn(o->set[i], "=");
		const struct aqm_param *p = config->aqm.ops->params;

		while (p->name != NULL &&
		       (strlen(p->name) != length || strncmp(p->name, o->set[i], length) != 0))
			p++;
		if (p->name == NULL || o->set[i][length] == '\0') {
			fprintf(stderr, "--set %s: there is no such parameter\n", o->set[i]);
			return false;
		}
		if (!aqm_set(p, config->aqm.config, strtod(o->set[i] + length + 1, NULL))) {
			fprintf(stderr, "--set %s: is out of range\n", o->set[i]);
			return false;
		}
	}
	return true;
}

static void
tell(const struct queue_packet *packet)
{
	printf("%" PRIuPTR " %" PRIu64 " %d %d %d\n", (uintptr_t)packet->handle, packet->dequeue_ns,
	       !packet->dropped, packet->mark, packet->dropped ? packet->reason : 0);
}

static void
leave_until(struct discipline *d, uint64_t now_ns)
{
	struct queue_packet packet;

	while (served_ops.dequeue(d, &packet, now_ns))
		tell(&packet);
}

/* Packets from the standard input, until its end; what was refused is told at once. */
static void
pass_all(struct discipline *d)
{
	uint64_t now_ns;
	uint32_t flow, bytes;
	unsigned int ecn;

	for (uintptr_t number = 0;
	     scanf("%" SCNu64 " %" SCNu32 " %" SCNu32 " %u", &now_ns, &flow, &bytes, &ecn) == 4;
	     number++) {
		struct queue_packet packet = {
			.handle = (void *)number,
			.bytes = bytes,
			.flow = flow,
			.ecn = (uint8_t)ecn,
		};

		leave_until(d, now_ns);
		if (!served_ops.enqueue(d, &packet, 1, now_ns))
			tell(&packet);
	}
	leave_until(d, UINT64_MAX - 1);
}

/* Whether the parameters go together; a line for people where they do not. */
static bool
check(struct discipline_config *config)
{
	const struct aqm_line line = {.rate_bps = config->rate_bps, .limit_bytes = config->limit};
	const char *why = NULL;

	if (config->aqm.ops->check != NULL)
		why = config->aqm.ops->check(config->aqm.config, &line);
	if (why != NULL)
		fprintf(stderr, "%s\n", why);
	return why == NULL;
}

static int
pass(const struct options *o)
{
	struct discipline_config config = {
		.rate_bps = o->rate_bps,
		.limit = o->limit,
		.aqm.ops = find(o->discipline),
		.aqm.seed = o->seed,
	};
	struct discipline *d;

	if (config.aqm.ops == NULL)
		return EXIT_WRONG;
	aqm_defaults(config.aqm.ops->params, config.aqm.config);
	if (!set_parameters(o, &config) || !check(&config))
		return EXIT_WRONG;
	d = served_ops.create();
	if (d == NULL)
		return EXIT_FAILED;
	if (served_ops.configure(d, &config) < 0) {
		fputs("does not begin: the rate, the limit, or its own init\n", stderr);
		served_ops.destroy(d);
		return EXIT_WRONG;
	}
	pass_all(d);
	served_ops.destroy(d);
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	const struct argp argp = {option_table, take_option, "describe|policies|pass [DISCIPLINE]",
				  doc,		NULL,	     NULL,
				  NULL};
	struct options options = {.seed = 1};

	argp_err_exit_status = EXIT_WRONG;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (strcmp(options.command, "describe") == 0)
		return describe_all(&options);
	if (strcmp(options.command, "policies") == 0)
		return describe_policies(&options);
	return pass(&options);
}
