/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-aqm: says what parameters a queue discipline, or a policy of shared memory, has, and sends
 * packets through it.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/aqm_load.h"
#include "core/disciplines.h"
#include "core/traffic_manager.h"

static const char doc[] =
	"What parameters a queue discipline or a policy of shared memory has, or what it does with "
	"packets.\v"
	"DISCIPLINE is one of ours by its name, or a shared object of your own with either. `describe` writes a "
	"line of JSON for it, or for each of our disciplines. `check` says whether it takes its "
	"parameters at a line. `pass` sends packets through it; with a "
	"policy they are for four queues, by the number of their flow. It reads packets, a line for each: time in "
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
	OPTION_LIMIT_PACKETS,
	OPTION_SEED,
	OPTION_SET,
	MOST_SET = 32,
	ERROR_BYTES = 512,
	N_QUEUES = 4, /* that share memory */
};

static const struct argp_option option_table[] = {
	{"rate-bps", OPTION_RATE, "RATE", 0, "of the line, in bit/s", 0},
	{"limit", OPTION_LIMIT, "BYTES", 0, "the queue's hard limit", 0},
	{"limit-packets", OPTION_LIMIT_PACKETS, "N", 0, "instead, of a check", 0},
	{"seed", OPTION_SEED, "N", 0, "of everything random in it", 0},
	{"set", OPTION_SET, "NAME=VALUE", 0, "a parameter, in ns, bytes, or a part of 1", 0},
	{0},
};

struct options {
	const char *command;
	const char *discipline; /* NULL: each of ours */
	uint64_t rate_bps;
	uint64_t limit;
	uint64_t limit_packets;
	uint64_t seed;
	const char *set[MOST_SET];
	uint32_t n_set;
};

static const char *
problem(const struct options *o)
{
	const char *command = o->command != NULL ? o->command : "";
	bool checks = strcmp(command, "check") == 0;

	if (strcmp(command, "describe") == 0)
		return NULL;
	if (!checks && strcmp(command, "pass") != 0)
		return "write describe, check or pass";
	if (o->discipline == NULL || o->rate_bps == 0 ||
	    (o->limit == 0 && !(checks && o->limit_packets != 0)))
		return "check and pass need --rate-bps, --limit and a discipline";
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
	case OPTION_LIMIT_PACKETS:
		o->limit_packets = strtoull(value, NULL, 10);
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

/* What was asked for: a discipline, or a policy of memory. */
struct subject {
	const struct aqm_ops *aqm;
	const struct memory_ops *memory;
};

/* One of our disciplines by its name, or what is in a shared object; false with a line for people. */
static bool
find(const char *name, struct subject *subject)
{
	char why[ERROR_BYTES];

	*subject = (struct subject){.aqm = aqm_find(name)};
	if (subject->aqm != NULL)
		return true;
	if (memory_is_in(name))
		subject->memory = memory_load(name, why, sizeof(why));
	else
		subject->aqm = aqm_load(name, why, sizeof(why));
	if (subject->aqm != NULL || subject->memory != NULL)
		return true;
	fprintf(stderr, "%s\n", why);
	return false;
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
write_params(const struct aqm_param *params)
{
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
}

static void
describe(const struct subject *subject)
{
	const struct aqm_ops *aqm = subject->aqm;
	const struct memory_ops *memory = subject->memory;

	fputs("{\"name\": ", stdout);
	describe_text(aqm != NULL ? aqm->name : memory->name);
	printf(", \"what\": \"%s\", \"help\": ", aqm != NULL ? "discipline" : "memory");
	describe_text(aqm != NULL ? aqm->help : memory->help);
	fputs(", \"parameters\": [", stdout);
	write_params(aqm != NULL ? aqm->params : memory->params);
	puts("]}");
}

static int
describe_all(const struct options *o)
{
	struct subject subject = {0};

	if (o->discipline == NULL) {
		for (uint32_t i = 0; aqm_disciplines[i] != NULL; i++) {
			subject.aqm = aqm_disciplines[i];
			describe(&subject);
		}
		return EXIT_SUCCESS;
	}
	if (!find(o->discipline, &subject))
		return EXIT_WRONG;
	describe(&subject);
	return EXIT_SUCCESS;
}

/* Set the parameters that are given; false with a line for people. */
static bool
set_parameters(const struct options *o, const struct aqm_param *params, void *config)
{
	for (uint32_t i = 0; i < o->n_set; i++) {
		size_t length = strcspn(o->set[i], "=");
		const struct aqm_param *p = params;

		while (p->name != NULL &&
		       (strlen(p->name) != length || strncmp(p->name, o->set[i], length) != 0))
			p++;
		if (p->name == NULL || o->set[i][length] == '\0') {
			fprintf(stderr, "--set %s: there is no such parameter\n", o->set[i]);
			return false;
		}
		if (!aqm_set(p, config, strtod(o->set[i] + length + 1, NULL))) {
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
leave_until(struct traffic_manager *tm, uint64_t now_ns)
{
	struct queue_packet packet;

	while (traffic_manager_dequeue(tm, &packet, now_ns))
		tell(&packet);
}

/* Packets from the standard input, until its end; what was refused is told at once. */
static void
pass_all(struct traffic_manager *tm)
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
			.queue = flow % N_QUEUES,
			.ecn = (uint8_t)ecn,
		};

		leave_until(tm, now_ns);
		if (!traffic_manager_enqueue(tm, &packet, 1, now_ns))
			tell(&packet);
	}
	leave_until(tm, UINT64_MAX - 1);
}

/* Whether the parameters go together; a line for people where they do not. */
static bool
go_together(const char *why)
{
	if (why != NULL)
		fprintf(stderr, "%s\n", why);
	return why == NULL;
}

/* A discipline for all packets. */
static bool
set_up_aqm(const struct options *o, const struct aqm_ops *aqm, const struct aqm_line *line,
	   struct lane_config *config)
{
	config->discipline.ops = aqm;
	config->discipline.seed = o->seed;
	aqm_defaults(aqm->params, config->discipline.config);
	return set_parameters(o, aqm->params, config->discipline.config) &&
	       (aqm->check == NULL || go_together(aqm->check(config->discipline.config, line)));
}

/* Queues that share their memory by a policy. */
static bool
set_up_memory(const struct options *o, const struct memory_ops *policy, const struct aqm_line *line,
	      struct lane_config *config)
{
	struct memory_setup *setup = &config->queues.memory;
	struct memory memory;

	config->discipline.ops = &queues_ops;
	config->queues.n_queues = N_QUEUES;
	for (uint32_t i = 0; i < N_QUEUES; i++)
		config->queues.queues[i].weight = 1;
	setup->ops = policy;
	setup->seed = o->seed;
	aqm_defaults(policy->params, setup->config);
	queues_memory(&config->queues, line, &memory);
	return set_parameters(o, policy->params, setup->config) &&
	       (policy->check == NULL || go_together(policy->check(setup->config, &memory)));
}

/* Set a discipline or a policy up as for packets; false with a line for people. */
static bool
set_up(const struct options *o, struct lane_config *config)
{
	const struct aqm_line line = {.rate_bps = o->rate_bps,
				      .limit_bytes = o->limit,
				      .limit_packets = o->limit_packets};
	struct subject subject;

	if (!find(o->discipline, &subject))
		return false;
	return subject.aqm != NULL ? set_up_aqm(o, subject.aqm, &line, config) :
				     set_up_memory(o, subject.memory, &line, config);
}

static int
check(const struct options *o)
{
	struct lane_config config = {.rate_bps = o->rate_bps, .limit.value = o->limit};

	return set_up(o, &config) ? EXIT_SUCCESS : EXIT_WRONG;
}

static int
pass(const struct options *o)
{
	struct lane_config config = {.rate_bps = o->rate_bps, .limit.value = o->limit};
	struct traffic_manager tm;
	int status = EXIT_SUCCESS;

	if (!set_up(o, &config))
		return EXIT_WRONG;
	if (traffic_manager_init(&tm, 1) < 0)
		return EXIT_FAILED;
	if (traffic_manager_configure(&tm, 0, &config) == 0) {
		pass_all(&tm);
	} else {
		fputs("does not begin: the rate, the limit, or its own init\n", stderr);
		status = EXIT_WRONG;
	}
	traffic_manager_free(&tm);
	return status;
}

int
main(int argc, char **argv)
{
	const struct argp argp = {
		option_table, take_option, "describe|pass [DISCIPLINE]", doc, NULL, NULL, NULL};
	struct options options = {.seed = 1};

	argp_err_exit_status = EXIT_WRONG;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (strcmp(options.command, "describe") == 0)
		return describe_all(&options);
	return strcmp(options.command, "check") == 0 ? check(&options) : pass(&options);
}
