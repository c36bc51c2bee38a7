/* SPDX-License-Identifier: Apache-2.0 */
/* From t0 to the end: starts flows, keeps them supplied, and samples them. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "sender.h"
#include "tcp_socket.h"

/* At most this much per flow and event, so that no flow waits long for its turn. */
#define WRITE_BYTES (128u << 10)

/* At most this many flows are started or sampled before the others are served again. */
#define STEP_FLOWS 16

static const char bulk_data[WRITE_BYTES];

static int64_t
wait_deadline_ns(const void *owner)
{
	(void)owner;
	return NEVER;
}

static int
wait_due(void *owner, int64_t now_ns)
{
	(void)owner;
	(void)now_ns;
	return 0;
}

static bool
t0_known(const void *owner)
{
	return orders_t0_known(&((const struct sender *)owner)->session.orders);
}

int
sender_wait_for_t0(struct sender *sender)
{
	static const struct agenda agenda = {wait_deadline_ns, wait_due, t0_known};
	const struct session *session = &sender->session;
	int64_t late_ns;

	if (loop_run(&sender->session.loop, &agenda, sender) < 0)
		return -1;
	late_ns = clock_now_ns() - session->orders.t0_ns;
	if (session->loop.stop_signal == 0 && late_ns > 0)
		return failure_set(session->failure, EXIT_STATUS_HOST,
				   "t0 was %.3f ms before the flows were ready; set it later",
				   (double)late_ns / MILLISECOND_NS);
	return 0;
}

static int
supply(struct sender_flow *flow, int64_t now_ns)
{
	if (send(flow->watch.fd, bulk_data, sizeof(bulk_data), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	    errno == EAGAIN || errno == EINTR)
		return 0;
	return sender_lose_flow(flow, errno, now_ns);
}

static int
running_flow_ready(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);

	if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0)
		return sender_lose_flow(flow, tcp_socket_error(watch->fd), now_ns);
	return supply(flow, now_ns);
}

int
sender_start_flow(struct sender_flow *flow)
{
	flow->state = FLOW_RUNNING;
	flow->started_ns = clock_now_ns();
	flow->watch.ready = running_flow_ready;
	if (loop_change(&flow->sender->session.loop, &flow->watch, EPOLLOUT | EPOLLRDHUP) < 0)
		return -1;
	return supply(flow, flow->started_ns);
}

static bool
has_servers(const struct sender *sender)
{
	return sender->session.config->control_count > 0;
}

static int64_t
next_start_ns(const struct sender *sender)
{
	int64_t t0_ns = sender->session.orders.t0_ns;

	if (sender->start.next == sender->flow_count)
		return NEVER;
	if (has_servers(sender))
		return t0_ns;
	return t0_ns + sender->start.order[sender->start.next]->config->start_ns;
}

static int
start_flows(struct sender *sender, int64_t now_ns)
{
	if (has_servers(sender) && next_start_ns(sender) <= now_ns) {
		sender->start.next = sender->flow_count;
		return sender_dial_servers(sender, now_ns);
	}
	for (int started = 0; started < STEP_FLOWS && next_start_ns(sender) <= now_ns; started++)
		if (sender_start_flow(sender->start.order[sender->start.next++]) < 0)
			return -1;
	return 0;
}

int
sender_record_sample(struct sender_flow *flow, uint64_t tick)
{
	struct sender *sender = flow->sender;

	flow->last.tick = (uint32_t)tick;
	return record_file_append(&sender->samples, &flow->last, sizeof(flow->last),
				  sender->session.failure);
}

static bool
sampling_under_way(const struct sender *sender)
{
	return sender->sampling.next < sender->flow_count;
}

static void
begin_sampling(struct sender *sender, int64_t now_ns)
{
	sender->sampling.tick = grid_take_latest(&sender->grid, now_ns, &sender->lateness);
	sender->sampling.next = 0;
}

/* With thousands of flows a tick takes milliseconds, in which others must be supplied. */
static int
sample_flows(struct sender *sender)
{
	for (int sampled = 0; sampled < STEP_FLOWS && sampling_under_way(sender); sampled++) {
		struct sender_flow *flow = &sender->flows[sender->sampling.next++];

		if (flow->state != FLOW_RUNNING)
			continue;
		if (sender_flow_sample(flow) < 0 ||
		    sender_record_sample(flow, sender->sampling.tick) < 0)
			return -1;
	}
	return 0;
}

/* Of streams that connect after t0. */
static int64_t
connect_deadline_ns(const struct sender *sender)
{
	bool connects = has_servers(sender) && sender->start.next == sender->flow_count &&
			sender->connect.done < sender->flow_count;

	return connects ? sender->connect.deadline_ns : NEVER;
}

static int64_t
earlier(int64_t a_ns, int64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static int64_t
transmit_next_ns(const void *owner)
{
	const struct sender *sender = owner;
	int64_t sample_ns = sampling_under_way(sender) ? NOW : grid_next_ns(&sender->grid);
	int64_t start_ns = earlier(next_start_ns(sender), connect_deadline_ns(sender));

	return earlier(earlier(start_ns, sample_ns), sender_next_end_ns(sender));
}

static int
transmit_due(void *owner, int64_t now_ns)
{
	struct sender *sender = owner;

	if (now_ns >= sender_next_end_ns(sender))
		return sender_end_flows(sender, now_ns);
	if (now_ns >= connect_deadline_ns(sender))
		return sender_connect_too_late(sender);
	if (start_flows(sender, now_ns) < 0)
		return -1;
	if (!sampling_under_way(sender) && grid_next_ns(&sender->grid) <= now_ns)
		begin_sampling(sender, now_ns);
	return sample_flows(sender);
}

static bool
all_ended(const void *owner)
{
	const struct sender *sender = owner;

	return sender->ended == sender->flow_count;
}

int
sender_transmit(struct sender *sender)
{
	static const struct agenda agenda = {transmit_next_ns, transmit_due, all_ended};
	const struct config *config = sender->session.config;
	int64_t t0_ns = sender->session.orders.t0_ns;

	if (!t0_known(sender)) /* a signal came first */
		return 0;
	if (!has_servers(sender))
		sender->processes[0].end_ns = t0_ns + config->duration_ns;
	sender->sampling.next = sender->flow_count;
	sender->grid = (struct grid){
		.origin_ns = t0_ns,
		.step_ns = config->sample_ns,
		.count = (uint64_t)(config->span_ns / config->sample_ns) + 1,
	};
	if (loop_run(&sender->session.loop, &agenda, sender) < 0)
		return -1;
	return sender_end_all(sender); /* what a signal left */
}
