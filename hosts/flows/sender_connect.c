/* SPDX-License-Identifier: Apache-2.0 */
#include "sender_connect.h"

#include "common/clock.h"

/* Handshakes under way at once: no burst of SYNs that overflows a short bottleneck queue. */
#define PENDING_MAX 128

struct connecting {
	struct sender_flows *all;
	int64_t deadline_ns;
	size_t next;
	size_t asked;
};

static int connect_more(struct connecting *c, int64_t now_ns);

static int
connect_next(struct sender_flow *flow, void *owner, int64_t now_ns)
{
	return connect_more(owner, now_ns);
}

static int
connect_more(struct connecting *c, int64_t now_ns)
{
	while (c->next < c->all->count && c->asked - c->all->connected < PENDING_MAX) {
		struct sender_flow *flow = &c->all->flows[c->next++];

		if (sender_flow_is_transfer(flow))
			continue;
		c->asked++;
		if (sender_flow_connect(flow, now_ns, connect_next, c) < 0)
			return -1;
	}
	return 0;
}

static int64_t
deadline_ns(const void *owner)
{
	return ((const struct connecting *)owner)->deadline_ns;
}

static int
too_late(void *owner, int64_t now_ns)
{
	return sender_connect_too_late(((const struct connecting *)owner)->all);
}

static bool
all_connected(const void *owner)
{
	const struct sender_flows *all = ((const struct connecting *)owner)->all;

	return all->connected == all->in_advance;
}

int
sender_connect_all(struct sender_flows *all)
{
	static const struct agenda agenda = {deadline_ns, too_late, all_connected};
	int64_t now_ns = clock_now_ns();
	struct connecting connecting = {
		.all = all,
		.deadline_ns = now_ns + all->session.config->connect_timeout_ns,
	};

	/* A signal stops the loop for good, so no handler of a flow outlives this window. */
	if (connect_more(&connecting, now_ns) < 0)
		return -1;
	return loop_run(&all->session.loop, &agenda, &connecting);
}

int
sender_connect_too_late(const struct sender_flows *all)
{
	const struct sender_flow *flow = all->flows;
	char name[FLOW_NAME_BYTES];

	while (flow->state != FLOW_IDLE || sender_flow_is_transfer(flow))
		flow++;
	return failure_set(all->session.failure, EXIT_STATUS_HOST,
			   "%s: cannot connect: no answer within %.3f s (%zu of %zu flows are "
			   "connected)",
			   flow_name(flow->config, name),
			   (double)all->session.config->connect_timeout_ns / SECOND_NS,
			   all->connected, all->in_advance);
}
