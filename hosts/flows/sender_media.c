/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams at their times, whatever becomes of them. A frame's packets all have the time at which
 * it was produced as that of their sending: delay before the first bit is the sender's, too.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "sender_applications.h"

/* What the socket does not take now is lost here; a gate finds it. */
static bool
is_refused(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == EINTR || error == ECONNREFUSED;
}

static int
send_packet(struct application_flow *app, uint32_t bytes, int64_t now_ns)
{
	struct datagram_header header = {.seq = app->next_seq++, .sent_ns = now_ns};
	struct sender_flow *flow = app->flow;
	struct sent_datagram record = {
		.sent_ns = now_ns,
		.flow = flow->config->flow,
		.seq = header.seq,
		.bytes = bytes,
	};
	uint8_t payload[DATAGRAM_BYTES_MAX] = {0};

	datagram_encode(&header, payload);
	if (send(flow->watch.fd, payload, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    !is_refused(errno))
		return failure_set(flow->all->session.failure, EXIT_STATUS_HOST,
				   "flow %u: cannot send a datagram: %s", flow->config->flow,
				   strerror(errno));
	flow->last.bytes_sent += bytes;
	return record_file_append(&app->all->datagrams, &record, sizeof(record),
				  flow->all->session.failure);
}

int
media_due(struct application_flow *app, int64_t now_ns)
{
	uint32_t bytes;

	pacing_begin_frame(&app->pacing);
	while ((bytes = pacing_take(&app->pacing)) > 0)
		if (send_packet(app, bytes, now_ns) < 0)
			return -1;
	application_call_at(app, pacing_next_ns(&app->pacing));
	return 0;
}
