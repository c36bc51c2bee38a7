/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-flows: the kernel-TCP flow generator and its sink. See README.md. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "common/events.h"
#include "common/program.h"
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
run(const char *path, struct failure *failure)
{
	struct config config;
	int status = config_load(&config, path, failure);

	if (status == 0)
		status = run_role(&config, failure);
	config_free(&config);
	return status;
}

int
main(int argc, char **argv)
{
	struct program_option options[] = {
		{"config", "FILE", "the role, the flows and the times, as JSON", NULL},
		{0},
	};
	struct failure failure = {0};
	int status;

	program_options(argc, argv, doc, options);
	status = run(options[0].value, &failure);
	return status >= 0 ? status : event_print_failure(&failure, "nashbed-flows");
}
