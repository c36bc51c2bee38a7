/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-flows: the kernel-TCP flow generator and its sink. See README.md. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "common/events.h"
#include "common/shared.h"
#include "config.h"
#include "sender.h"
#include "sink.h"

/* Descriptors that the program opens besides the flows'. */
#define OTHER_DESCRIPTORS 64

static const char doc[] =
	"Sends, or receives, bulk data over many kernel TCP flows with a congestion control "
	"each.\v"
	"Example: a BBR flow for 10 s. The sink (\"role\": \"sink\", the same otherwise) goes "
	"first; each prints one JSON line when it is ready for the start time on its standard "
	"input.\n"
	"\n"
	"  { \"role\": \"sender\", \"duration_ns\": 10000000000, \"span_ns\": 10000000000,\n"
	"    \"sample_ns\": 50000000, \"interval_ns\": 100000000, \"drain_ns\": 1000000000,\n"
	"    \"read_bytes\": 16384, \"connect_timeout_ns\": 10000000000, \"out\": \"/tmp/trial\",\n"
	"    \"flows\": [ { \"flow\": 0, \"group\": 0, \"cc\": \"bbr\", \"start_ns\": 0,\n"
	"                 \"src\": \"10.64.0.1\", \"sport\": 10000,\n"
	"                 \"dst\": \"10.65.0.1\", \"dport\": 5001 } ] }\n"
	"\n"
	"  {\"t0_ns\": 123456789000000}      (CLOCK_MONOTONIC, the same line for both)\n"
	"\n"
	"Exit status: 0 done, 2 configuration, 4 host (sockets, disk, addresses), "
	"5 internal error, 128 + n ended by signal n.\n";

enum {
	OPTION_CONFIG = 256,
	OPTION_CHECK,
	OPTION_LAYOUTS,
	OPTION_HELP = 'h',
};

static const struct argp_option option_table[] = {
	{"config", OPTION_CONFIG, "FILE", 0, "the role, the flows and the times, as JSON", 0},
	{"check", OPTION_CHECK, NULL, 0,
	 "only check the configuration and print it with all defaults", 0},
	{"layouts", OPTION_LAYOUTS, NULL, 0, "print the layouts of the binary outputs as JSON", 0},
	{NULL, OPTION_HELP, NULL, OPTION_HIDDEN, NULL, 0},
	{0},
};

struct options {
	const char *config_path;
	bool check;
	bool layouts;
};

static error_t
take_option(int key, char *value, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_CONFIG:
		options->config_path = value;
		return 0;
	case OPTION_CHECK:
		options->check = true;
		return 0;
	case OPTION_LAYOUTS:
		options->layouts = true;
		return 0;
	case OPTION_HELP:
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unknown argument %.64s", value);
		return 0;
	case ARGP_KEY_END:
		if (options->config_path == NULL && !options->layouts)
			argp_error(state, "--config FILE is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct field {
	const char *name;
	const char *type;
	size_t offset;
};

#define SAMPLE_FIELD(ctype, type, name) {#name, #type, offsetof(struct flow_sample, name)},
#define GOODPUT_FIELD(ctype, type, name) {#name, #type, offsetof(struct goodput_record, name)},

#define TRANSFER_FIELD(ctype, type, name) {#name, #type, offsetof(struct transfer_record, name)},
#define SEGMENT_FIELD(ctype, type, name) {#name, #type, offsetof(struct segment_record, name)},
#define SENT_FIELD(ctype, type, name) {#name, #type, offsetof(struct sent_datagram, name)},
#define ARRIVED_FIELD(ctype, type, name) {#name, #type, offsetof(struct arrived_datagram, name)},

static const struct field sample_fields[] = {FLOW_SAMPLE_FIELDS(SAMPLE_FIELD)};
static const struct field goodput_fields[] = {GOODPUT_RECORD_FIELDS(GOODPUT_FIELD)};
static const struct field transfer_fields[] = {TRANSFER_RECORD_FIELDS(TRANSFER_FIELD)};
static const struct field segment_fields[] = {SEGMENT_RECORD_FIELDS(SEGMENT_FIELD)};
static const struct field sent_fields[] = {SENT_DATAGRAM_FIELDS(SENT_FIELD)};
static const struct field arrived_fields[] = {ARRIVED_DATAGRAM_FIELDS(ARRIVED_FIELD)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static json_t *
layout_to_json(size_t record_bytes, const struct field *fields, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", fields[i].name,
						      "type", fields[i].type, "offset",
						      (json_int_t)fields[i].offset));
	return json_pack("{s:I, s:o}", "record_bytes", (json_int_t)record_bytes, "fields", list);
}

static int
print_layouts(struct failure *failure)
{
	static const struct {
		const char *file;
		size_t record_bytes;
		const struct field *fields;
		size_t count;
	} files[] = {
		{FLOW_SAMPLES_FILE, sizeof(struct flow_sample), sample_fields,
		 COUNT(sample_fields)},
		{GOODPUT_FILE, sizeof(struct goodput_record), goodput_fields,
		 COUNT(goodput_fields)},
		{TRANSFERS_FILE, sizeof(struct transfer_record), transfer_fields,
		 COUNT(transfer_fields)},
		{SEGMENTS_FILE, sizeof(struct segment_record), segment_fields,
		 COUNT(segment_fields)},
		{SENT_FILE, sizeof(struct sent_datagram), sent_fields, COUNT(sent_fields)},
		{ARRIVED_FILE, sizeof(struct arrived_datagram), arrived_fields,
		 COUNT(arrived_fields)},
	};
	json_t *layouts = json_object();

	for (size_t i = 0; i < COUNT(files); i++)
		json_object_set_new(layouts, files[i].file,
				    layout_to_json(files[i].record_bytes, files[i].fields,
						   files[i].count));
	return json_print(layouts, failure);
}

/* Raise the limit of open files to one per flow. */
static int
reserve_descriptors(size_t flow_count, struct failure *failure)
{
	rlim_t needed = (rlim_t)flow_count + OTHER_DESCRIPTORS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return failure_set(failure, EXIT_STATUS_INTERNAL, "getrlimit: %s", strerror(errno));
	if (limit.rlim_cur >= needed)
		return 0;

	limit.rlim_cur = needed;
	if (limit.rlim_max < needed)
		limit.rlim_max = needed;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "%zu flows need %llu open files: %s; raise 'ulimit -n'",
				   flow_count, (unsigned long long)needed, strerror(errno));
	return 0;
}

static int
run_role(const struct config *config, struct failure *failure)
{
	if (reserve_descriptors(config->n_flows, failure) < 0)
		return -1;
	return config->role == ROLE_SENDER ? sender_run(config, failure) :
					     sink_run(config, failure);
}

static int
run_config(const struct options *options, struct failure *failure)
{
	struct config config;
	int status = config_load(&config, options->config_path, failure);

	if (status == 0)
		status = options->check ? json_print(config_to_json(&config), failure) :
					  run_role(&config, failure);
	config_free(&config);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = take_option,
		.args_doc = "--config=FILE [--check]\n--layouts",
		.doc = doc,
	};
	struct failure failure = {0};
	struct options options = {0};
	int status;

	argp_err_exit_status = EXIT_STATUS_CONFIG;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	status = options.layouts ? print_layouts(&failure) : run_config(&options, &failure);
	return status >= 0 ? status : event_print_failure(&failure, "nashbed-flows");
}
