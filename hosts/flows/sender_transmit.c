/* SPDX-License-Identifier: Apache-2.0 */
#include "sender_transmit.h"

#include <stdlib.h>

#include "common/clock.h"
#include "sender_connect.h"

/* At most this many flows are started or sampled before the others are served again. */
#define STEP_FLOWS 16

struct transmission {
	struct sender_flows *all;
	struct processes *processes;
	struct applications *applications;
	struct transfers *transfers;
	struct sender_flow **by_start;
	size_t next_start; /* the count of flows: all have been started, or have servers to do it */
	uint64_t tick;
	size_t next_sample; /* the count of flows: no sampling is under way */
};

static bool
has_servers(const struct transmission *t)
{
	return t->all->session.config->n_controls > 0;
}

static int
compare_starts(const void *left, const void *right)
{
	const struct sender_flow *a = *(struct sender_flow *const *)left;
	const struct sender_flow *b = *(struct sender_flow *const *)right;

	if (a->config->start_ns != b->config->start_ns)
		return a->config->start_ns < b->config->start_ns ? -1 : 1;
	return (a > b) - (a < b);
}

static int64_t
next_start_ns(const struct transmission *t)
{
	int64_t t0_ns = t->all->session.t0_ns;

	if (t->next_start == t->all->count)
		return NEVER;
	if (has_servers(t))
		return t0_ns;
	return t0_ns + t->by_start[t->next_start]->config->start_ns;
}

static int
start_flow(struct transmission *t, struct sender_flow *flow, int64_t now_ns)
{
	if (sender_flow_is_transfer(flow))
		return transfers_start(t->transfers, flow, now_ns);
	return flow->application == NULL ? sender_flow_start(flow) :
					   applications_start(t->applications, flow, now_ns);
}

static int
start_flows(struct transmission *t, int64_t now_ns)
{
	if (has_servers(t) && next_start_ns(t) <= now_ns) {
		t->next_start = t->all->count;
		return processes_dial(t->processes, now_ns);
	}
	for (int started = 0; started < STEP_FLOWS && next_start_ns(t) <= now_ns; started++)
		if (start_flow(t, t->by_start[t->next_start++], now_ns) < 0)
			return -1;
	return 0;
}

static bool
sampling_under_way(const struct transmission *t)
{
	return t->next_sample < t->all->count;
}

static void
begin_sampling(struct transmission *t, int64_t now_ns)
{
	t->tick = grid_take_latest(&t->all->ticks, now_ns, &t->all->lateness);
	t->next_sample = 0;
}

/* With thousands of flows a tick takes milliseconds, in which others must be supplied. */
static int
sample_flows(struct transmission *t)
{
	if (t->all->rows != NULL && sampling_under_way(t)) {
		t->next_sample = t->all->count;
		return sender_flows_sample(t->all, t->tick);
	}
	for (int sampled = 0; sampled < STEP_FLOWS && sampling_under_way(t); sampled++) {
		struct sender_flow *flow = &t->all->flows[t->next_sample++];

		if (sender_flow_is_sampled(flow) && sender_flow_sample(flow, t->tick) < 0)
			return -1;
	}
	return 0;
}

static int64_t
earlier(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static int64_t
next_ns(const void *owner)
{
	const struct transmission *t = owner;
	int64_t sample_ns = sampling_under_way(t) ? NOW : grid_next_ns(&t->all->ticks);
	int64_t start_ns = earlier(next_start_ns(t), processes_connect_deadline_ns(t->processes));

	start_ns = earlier(start_ns, applications_next_ns(t->applications));
	return earlier(earlier(start_ns, sample_ns), processes_next_end_ns(t->processes));
}

static int
do_what_is_due(void *owner, int64_t now_ns)
{
	struct transmission *t = owner;

	if (now_ns >= processes_next_end_ns(t->processes))
		return processes_end_flows(t->processes, now_ns);
	if (now_ns >= processes_connect_deadline_ns(t->processes))
		return sender_connect_too_late(t->all);
	if (start_flows(t, now_ns) < 0 || applications_due(t->applications, now_ns) < 0)
		return -1;
	if (!sampling_under_way(t) && grid_next_ns(&t->all->ticks) <= now_ns)
		begin_sampling(t, now_ns);
	return sample_flows(t);
}

static bool
all_ended(const void *owner)
{
	const struct transmission *t = owner;

	return t->all->ended == t->all->count;
}

static void
set_times(struct transmission *t)
{
	const struct config *config = t->all->session.config;
	int64_t t0_ns = t->all->session.t0_ns;

	if (!has_servers(t))
		t->processes->list[0].end_ns = t0_ns + config->duration_ns;
	t->next_sample = t->all->count;
	t->all->ticks = (struct grid){
		.origin_ns = t0_ns,
		.step_ns = config->sample_ns,
		.count = (uint64_t)(config->span_ns / config->sample_ns) + 1,
	};
}

static int
order_by_start(struct transmission *t)
{
	t->by_start = calloc(t->all->count, sizeof(*t->by_start));
	if (t->by_start == NULL)
		return failure_set(t->all->session.failure, EXIT_STATUS_HOST, "out of memory");
	for (size_t i = 0; i < t->all->count; i++)
		t->by_start[i] = &t->all->flows[i];
	qsort(t->by_start, t->all->count, sizeof(*t->by_start), compare_starts);
	return 0;
}

int
sender_transmit(struct sender_flows *all, struct processes *processes,
		struct applications *applications, struct transfers *transfers)
{
	static const struct agenda agenda = {next_ns, do_what_is_due, all_ended};
	struct transmission transmission = {
		.all = all,
		.processes = processes,
		.applications = applications,
		.transfers = transfers,
	};
	int result;

	if (!session_t0_known(&all->session)) /* a signal came first */
		return 0;
	set_times(&transmission);
	if (order_by_start(&transmission) < 0)
		return -1;
	result = loop_run(&all->session.loop, &agenda, &transmission);
	free(transmission.by_start);
	return result < 0 ? -1 : processes_end_all(processes); /* what a signal left */
}
