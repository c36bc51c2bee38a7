/* SPDX-License-Identifier: Apache-2.0 */
/* How flows end: each is read a last time and reset, process by process, a few at a time. */
#include <errno.h>

#include "common/clock.h"
#include "sender.h"
#include "tcp_socket.h"

/* Every flow's end is a reset on the wire: thousands at once would overflow the interface's ring,
 * which takes 256 frames.
 */
#define END_FLOWS 64
#define END_PAUSE_NS MILLISECOND_NS

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

int
sender_lose_flow(struct sender_flow *flow, int error, int64_t now_ns)
{
	flow->error = error != 0 ? error : ECONNRESET;
	flow->sender->lost++;
	return end_flow(flow, now_ns);
}

/* The end may be a tick too: its record is then the flow's last sample, read just before. */
static int
end_at_tick(const struct process *process, struct sender_flow *flow)
{
	bool was_running = flow->state == FLOW_RUNNING;

	if (flow->watch.fd < 0)
		return 0;
	if (end_flow(flow, clock_now_ns()) < 0)
		return -1;
	return process->ends_at_tick && was_running ?
		       sender_record_sample(flow, process->end_tick) :
		       0;
}

static int64_t
process_end_ns(const struct process *process)
{
	int64_t ordered_ns = process->sender->session.orders.end_ns;

	return ordered_ns < process->end_ns ? ordered_ns : process->end_ns;
}

static bool
is_over(const struct process *process)
{
	return process->ended == process->flow_count;
}

/* A flow of another process must not miss this tick: it is taken for all of them. */
static void
begin_end(struct process *process, int64_t now_ns)
{
	struct sender *sender = process->sender;

	process->ends_at_tick = grid_next_ns(&sender->grid) <= now_ns && sender->process_count == 1;
	if (process->ends_at_tick)
		process->end_tick = grid_take_latest(&sender->grid, now_ns, &sender->lateness);
}

static void
hang_up(struct process *process)
{
	if (process->watch.fd >= 0)
		tcp_socket_abort(process->watch.fd);
	process->watch.fd = -1;
}

static int
end_some_flows(struct process *process, int64_t now_ns)
{
	if (process->ended == 0)
		begin_end(process, now_ns);
	for (int ended = 0; ended < END_FLOWS && !is_over(process); ended++)
		if (end_at_tick(process, process->flows[process->ended++]) < 0)
			return -1;
	if (is_over(process))
		hang_up(process);
	process->sender->end_resume_ns = clock_now_ns() + END_PAUSE_NS;
	return 0;
}

/* The process that ends next, or NULL. */
static struct process *
next_to_end(const struct sender *sender)
{
	struct process *next = NULL;

	for (size_t i = 0; i < sender->process_count; i++) {
		struct process *process = (struct process *)&sender->processes[i];

		if (!is_over(process) &&
		    (next == NULL || process_end_ns(process) < process_end_ns(next)))
			next = process;
	}
	return next;
}

int64_t
sender_next_end_ns(const struct sender *sender)
{
	const struct process *next = next_to_end(sender);
	int64_t end_ns = next == NULL ? NEVER : process_end_ns(next);

	return end_ns > sender->end_resume_ns ? end_ns : sender->end_resume_ns;
}

int
sender_end_flows(struct sender *sender, int64_t now_ns)
{
	struct process *next = next_to_end(sender);

	return next == NULL ? 0 : end_some_flows(next, now_ns);
}

int
sender_end_all(struct sender *sender)
{
	struct process *next;

	while ((next = next_to_end(sender)) != NULL)
		if (end_some_flows(next, clock_now_ns()) < 0)
			return -1;
	return 0;
}
