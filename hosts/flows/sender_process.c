/* SPDX-License-Identifier: Apache-2.0 */
/* Which flows belong to which process. */
#include <stdlib.h>

#include "sender.h"
#include "tcp_socket.h"

static size_t
process_of(const struct sender *sender, size_t flow)
{
	return sender->session.config->control_count > 0 ? sender->flows[flow].config->process : 0;
}

static void
form_process(struct sender *sender, size_t number, struct sender_flow **flows)
{
	const struct config *config = sender->session.config;
	struct process *process = &sender->processes[number];

	*process = (struct process){
		.watch.fd = -1,
		.sender = sender,
		.control = config->control_count > 0 ? &config->controls[number] : NULL,
		.flows = flows,
		.end_ns = NEVER,
	};
	for (size_t i = 0; i < sender->flow_count; i++)
		if (process_of(sender, i) == number)
			flows[process->flow_count++] = &sender->flows[i];
}

int
sender_form_processes(struct sender *sender)
{
	size_t controls = sender->session.config->control_count;
	struct sender_flow **flows = calloc(sender->flow_count, sizeof(*flows));

	if (flows == NULL)
		return failure_set(sender->session.failure, EXIT_STATUS_HOST, "out of memory");
	sender->by_process = flows;
	sender->process_count = controls > 0 ? controls : 1;
	for (size_t i = 0; i < sender->process_count; i++) {
		form_process(sender, i, flows);
		flows += sender->processes[i].flow_count;
	}
	return 0;
}

void
sender_free_processes(struct sender *sender)
{
	for (size_t i = 0; i < sender->process_count; i++)
		if (sender->processes[i].watch.fd >= 0)
			tcp_socket_abort(sender->processes[i].watch.fd);
	free(sender->by_process);
}
