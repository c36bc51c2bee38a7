/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sender.h"
#include "tcp_sample.h"
#include "tcp_socket.h"

/*
 * Unsent data waiting in the kernel, over all flows and per flow. The kernel asks for more when
 * half of a flow's share is gone: enough that even one flow of 1 Gbit/s runs for 16 ms without
 * us, little enough that thousands of flows do not hold giant send buffers.
 */
#define UNSENT_TOTAL_BYTES (256u << 20)
#define UNSENT_MIN_BYTES (64u << 10)
#define UNSENT_MAX_BYTES (4u << 20)

static unsigned int
unsent_bytes_per_flow(size_t flow_count)
{
	size_t share = UNSENT_TOTAL_BYTES / flow_count;

	if (share < UNSENT_MIN_BYTES)
		return UNSENT_MIN_BYTES;
	return share > UNSENT_MAX_BYTES ? UNSENT_MAX_BYTES : (unsigned int)share;
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

static int
allocate_flows(struct sender *sender, const struct config *config)
{
	sender->flows = calloc(config->flow_count, sizeof(*sender->flows));
	sender->start.order = calloc(config->flow_count, sizeof(*sender->start.order));
	if (sender->flows == NULL || sender->start.order == NULL)
		return failure_set(sender->session.failure, EXIT_STATUS_HOST, "out of memory");

	sender->flow_count = config->flow_count;
	for (size_t i = 0; i < sender->flow_count; i++) {
		sender->flows[i] = (struct sender_flow){
			.watch.fd = -1,
			.sender = sender,
			.config = &config->flows[i],
			.min_rtt_us = UINT32_MAX,
		};
		sender->start.order[i] = &sender->flows[i];
	}
	qsort(sender->start.order, sender->flow_count, sizeof(*sender->start.order),
	      compare_starts);
	return sender_form_processes(sender);
}

static int
open_sender(struct sender *sender, const struct config *config, struct failure *failure)
{
	*sender = (struct sender){.samples = RECORD_FILE_CLOSED};
	sender->unsent_bytes = unsent_bytes_per_flow(config->flow_count);
	if (session_open(&sender->session, config, failure) < 0 ||
	    allocate_flows(sender, config) < 0 ||
	    control_states_open(&sender->states, config, failure) < 0)
		return -1;
	return record_file_open(&sender->samples, config->out, FLOW_SAMPLES_FILE, failure);
}

static void
close_sender(struct sender *sender)
{
	struct failure ignored = {0};

	for (size_t i = 0; i < sender->flow_count; i++)
		if (sender->flows[i].watch.fd >= 0)
			tcp_socket_abort(sender->flows[i].watch.fd);
	record_file_close(&sender->samples, &ignored);
	control_states_close(&sender->states);
	sender_free_processes(sender);
	free(sender->start.order);
	free(sender->flows);
	session_close(&sender->session);
}

static int
run_phases(struct sender *sender)
{
	if (sender_open_sockets(sender) < 0)
		return -1;
	if (sender->session.config->control_count == 0 && sender_connect(sender) < 0)
		return -1;
	if (sender_report_ready(sender) < 0)
		return -1;
	if (sender_wait_for_t0(sender) < 0)
		return -1;
	if (sender_transmit(sender) < 0)
		return -1;
	if (record_file_close(&sender->samples, sender->session.failure) < 0)
		return -1;
	if (sender_report_end(sender) < 0)
		return -1;
	return session_exit_status(&sender->session);
}

int
sender_run(const struct config *config, struct failure *failure)
{
	struct sender sender;
	int status = -1;

	if (open_sender(&sender, config, failure) == 0)
		status = run_phases(&sender);
	close_sender(&sender);
	return status;
}

int
sender_flow_sample(struct sender_flow *flow)
{
	char name[FLOW_NAME_BYTES];

	if (tcp_sample_read(flow->watch.fd, flow->state_of_cc, &flow->last) < 0)
		return failure_set(flow->sender->session.failure, EXIT_STATUS_INTERNAL,
				   "%s: cannot read TCP_INFO", flow_name(flow->config, name));

	flow->last.flow = flow->config->flow;
	flow->last.bytes_acked -= flow->acked_by_handshake;
	if (flow->last.min_rtt_us < flow->min_rtt_us)
		flow->min_rtt_us = flow->last.min_rtt_us;
	return 0;
}
