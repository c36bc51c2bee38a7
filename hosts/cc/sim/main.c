/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-cc-sim: CCAs share a bottleneck in virtual time; tests them without root. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/events.h"
#include "dpdk/core/prng.h"

#include "cubic.h"
#include "options.h"
#include "report.h"

static const char program[] = "nashbed-cc-sim";

static uint64_t random_state;

static struct {
	void *block[SIM_FLOWS_MAX];
	u32 count;
} allocated;

void *
sim_alloc(size_t bytes)
{
	void *block = calloc(1, bytes);

	if (block == NULL || allocated.count == SIM_FLOWS_MAX) {
		fprintf(stderr, "%s: out of memory\n", program);
		exit(EXIT_STATUS_HOST);
	}
	allocated.block[allocated.count++] = block;
	return block;
}

u32
sim_random(void)
{
	return (u32)prng_next(&random_state);
}

/* "NAME:3" becomes "NAME" and 3. */
static u32
split_count(char *kind)
{
	char *colon = strrchr(kind, ':');

	if (colon == NULL)
		return 1;
	*colon = '\0';
	return (u32)strtoul(colon + 1, NULL, 10);
}

static const struct tcp_congestion_ops *
open_cca(const char *kind, struct failure *failure)
{
	const struct tcp_congestion_ops *ops;
	void *object;

	if (strcmp(kind, sim_cubic.name) == 0)
		return &sim_cubic;
	object = dlopen(kind, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL) {
		failure_set(failure, EXIT_STATUS_CONFIG, "%s", dlerror());
		return NULL;
	}
	ops = dlsym(object, "cc_ops");
	if (ops == NULL || ops->cong_control == NULL || ops->ssthresh == NULL) {
		failure_set(failure, EXIT_STATUS_CONFIG,
			    "%.200s: not a congestion control: a table with cong_control and "
			    "ssthresh is missing",
			    kind);
		return NULL;
	}
	return ops;
}

static int
add_flows(struct sim_flow **flows, u32 *count, char *kind, struct failure *failure)
{
	u32 more = split_count(kind);
	const struct tcp_congestion_ops *ops = open_cca(kind, failure);

	if (ops == NULL)
		return -1;
	if (more == 0 || more > SIM_FLOWS_MAX - *count)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%.200s: 1 to %d flows are possible in all", kind,
				   SIM_FLOWS_MAX);
	for (; more > 0; more--) {
		struct sim_flow *flow = calloc(1, sizeof(*flow));

		if (flow == NULL)
			return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
		flow_init(flow, ops);
		flows[(*count)++] = flow;
	}
	return 0;
}

static int
run_until(struct sim_network *network, u64 until_ns, u64 sample_ns, struct failure *failure)
{
	while (sample_ns && network->now_ns + sample_ns < until_ns) {
		network_run(network, network->now_ns + sample_ns);
		if (report_sample(network, failure) < 0)
			return -1;
	}
	network_run(network, until_ns);
	return sample_ns ? report_sample(network, failure) : 0;
}

static int
simulate(const struct sim_options *options, struct sim_flow **flows, u32 count,
	 struct failure *failure)
{
	struct sim_network network;
	int result;

	if (network_init(&network, &options->path, options->seed, flows, count) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	result = run_until(&network, options->warmup_ns, options->sample_ns, failure);
	network_forget(&network);
	if (result == 0)
		result = run_until(&network, options->duration_ns, options->sample_ns, failure);
	if (result == 0)
		result = report_end(&network, failure);
	network_free(&network);
	return result;
}

static int
run(const struct sim_options *options, struct failure *failure)
{
	struct sim_flow *flows[SIM_FLOWS_MAX];
	u32 count = 0;
	int result = 0;

	random_state = ~options->seed;
	for (char **kind = options->kinds; *kind != NULL && result == 0; kind++)
		result = add_flows(flows, &count, *kind, failure);
	if (result == 0)
		result = simulate(options, flows, count, failure);
	while (count > 0)
		free(flows[--count]);
	while (allocated.count > 0)
		free(allocated.block[--allocated.count]);
	return result;
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};
	struct sim_options options;

	if (sim_options_read(&options, argc, argv, &failure) < 0)
		return event_print_failure(&failure, program);
	if (options.wants_help)
		return fputs(sim_usage, stdout) == EOF ? EXIT_STATUS_HOST : EXIT_STATUS_OK;
	if (run(&options, &failure) < 0)
		return event_print_failure(&failure, program);
	return EXIT_STATUS_OK;
}
