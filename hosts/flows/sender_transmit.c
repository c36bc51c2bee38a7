/* SPDX-License-Identifier: Apache-2.0 */
/* From t0 to the end: starts flows, keeps them supplied, samples them, and resets them. */
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
/* An interface's ring takes 256 frames. */
#define END_FLOWS 64
#define END_PAUSE_NS MILLISECOND_NS

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
	return t0_source_known(&((const struct sender *)owner)->session.t0);
}

int
sender_wait_for_t0(struct sender *sender)
{
	static const struct agenda agenda = {wait_deadline_ns, wait_due, t0_known};
	const struct session *session = &sender->session;
	int64_t late_ns;

	if (loop_run(&sender->session.loop, &agenda, sender) < 0)
		return -1;
	late_ns = clock_now_ns() - session->t0.t0_ns;
	if (session->loop.stop_signal == 0 && late_ns > 0)
		return failure_set(session->failure, EXIT_STATUS_HOST,
				   "t0 was %.3f ms before the flows were ready; set it later",
				   (double)late_ns / MILLISECOND_NS);
	return 0;
}

/* Reset the flow; its last sample gives the totals. */
static int
end_flow(struct sender_flow *flow, int64_t now_ns)
{
	int result = sender_flow_sample(flow);

	tcp_socket_abort(flow->watch.fd);
	flow->watch.fd = -1;
	flow->state = FLOW_ENDED;
	flow->ended_ns = now_ns;
	flow->sender->ended++;
	return result;
}

static int
lose_flow(struct sender_flow *flow, int error, int64_t now_ns)
{
	flow->error = error != 0 ? error : ECONNRESET;
	flow->sender->lost++;
	return end_flow(flow, now_ns);
}

static int
supply(struct sender_flow *flow, int64_t now_ns)
{
	if (send(flow->watch.fd, bulk_data, sizeof(bulk_data), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	    errno == EAGAIN || errno == EINTR)
		return 0;
	return lose_flow(flow, errno, now_ns);
}

static int
running_flow_ready(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);

	if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0)
		return lose_flow(flow, tcp_socket_error(watch->fd), now_ns);
	return supply(flow, now_ns);
}

static int
start_flow(struct sender_flow *flow)
{
	flow->state = FLOW_RUNNING;
	flow->started_ns = clock_now_ns();
	flow->watch.ready = running_flow_ready;
	if (loop_change(&flow->sender->session.loop, &flow->watch, EPOLLOUT | EPOLLRDHUP) < 0)
		return -1;
	return supply(flow, flow->started_ns);
}

static int64_t
next_start_ns(const struct sender *sender)
{
	if (sender->start.next == sender->flow_count)
		return NEVER;
	return sender->session.t0.t0_ns + sender->start.order[sender->start.next]->config->start_ns;
}

static int
start_flows(struct sender *sender, int64_t now_ns)
{
	for (int started = 0; started < STEP_FLOWS && next_start_ns(sender) <= now_ns; started++)
		if (start_flow(sender->start.order[sender->start.next++]) < 0)
			return -1;
	return 0;
}

static int
record_sample(struct sender_flow *flow, uint64_t tick)
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
		if (sender_flow_sample(flow) < 0 || record_sample(flow, sender->sampling.tick) < 0)
			return -1;
	}
	return 0;
}

static void
begin_end(struct sender *sender, int64_t now_ns)
{
	sender->end.is_tick = grid_next_ns(&sender->grid) <= now_ns;
	if (sender->end.is_tick)
		sender->end.tick = grid_take_latest(&sender->grid, now_ns, &sender->lateness);
}

/* The end may be a tick too: its record is then the flow's last sample, read just before. */
static int
end_at_tick(struct sender_flow *flow)
{
	const struct sender *sender = flow->sender;
	bool was_running = flow->state == FLOW_RUNNING;

	if (flow->watch.fd < 0)
		return 0;
	if (end_flow(flow, clock_now_ns()) < 0)
		return -1;
	return sender->end.is_tick && was_running ? record_sample(flow, sender->end.tick) : 0;
}

/* Every flow's end is a reset on the wire: thousands at once would overflow the interface's
 * ring, so they go a few at a time.
 */
static int
end_some_flows(struct sender *sender, int64_t now_ns)
{
	if (sender->end.resume_ns == 0)
		begin_end(sender, now_ns);
	for (int ended = 0; ended < END_FLOWS && sender->end.next < sender->flow_count; ended++)
		if (end_at_tick(&sender->flows[sender->end.next++]) < 0)
			return -1;
	sender->end.resume_ns = clock_now_ns() + END_PAUSE_NS;
	return 0;
}

static int64_t
transmit_next_ns(const void *owner)
{
	const struct sender *sender = owner;
	int64_t start_ns = next_start_ns(sender);
	int64_t sample_ns = sampling_under_way(sender) ? NOW : grid_next_ns(&sender->grid);
	int64_t first_ns = start_ns < sample_ns ? start_ns : sample_ns;

	if (sender->end.resume_ns != 0)
		return sender->end.resume_ns;
	return first_ns < sender->end_ns ? first_ns : sender->end_ns;
}

static int
transmit_due(void *owner, int64_t now_ns)
{
	struct sender *sender = owner;

	if (now_ns >= sender->end_ns)
		return end_some_flows(sender, now_ns);
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
	int64_t t0_ns = sender->session.t0.t0_ns;

	if (!t0_known(sender)) /* a signal came first */
		return 0;
	sender->end_ns = t0_ns + config->duration_ns;
	sender->sampling.next = sender->flow_count;
	sender->grid = (struct grid){
		.origin_ns = t0_ns,
		.step_ns = config->sample_ns,
		.count = (uint64_t)(config->duration_ns / config->sample_ns) + 1,
	};
	if (loop_run(&sender->session.loop, &agenda, sender) < 0)
		return -1;
	/* A signal came first: end the rest without delay. */
	while (sender->end.next < sender->flow_count)
		if (end_some_flows(sender, clock_now_ns()) < 0)
			return -1;
	return 0;
}
