/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A video player's segments. The player lives in the sender, which makes it cost no message: a
 * segment counts as arrived when all of it is acknowledged, which is when the request for the next
 * one would be here if the player had sent it at the last byte's arrival. An acknowledgement that
 * the receiver delays (a last segment of odd number: at most 40 ms) delays the request likewise.
 *
 * The kernel tells of that acknowledgement itself (SOF_TIMESTAMPING_TX_ACK).
 */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "sender_applications.h"
#include "tcp_socket.h"

/* The next bytes of a segment. Of the write that has its end the kernel tells when it is acked. */
static ssize_t
write_some(const struct application_flow *app)
{
	uint32_t flags = SOF_TIMESTAMPING_TX_ACK;
	char control[CMSG_SPACE(sizeof(flags))] = {0};
	bool has_end = app->owed_bytes <= WRITE_BYTES;
	struct iovec part = {
		.iov_base = (void *)(uintptr_t)sender_flow_zeros,
		.iov_len = has_end ? app->owed_bytes : WRITE_BYTES,
	};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *c = (struct cmsghdr *)control;

	if (has_end) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SO_TIMESTAMPING;
		c->cmsg_len = CMSG_LEN(sizeof(flags));
		memcpy(CMSG_DATA(c), &flags, sizeof(flags));
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(app->flow->watch.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int
supply(struct application_flow *app, int64_t now_ns)
{
	struct sender_flow *flow = app->flow;

	while (app->owed_bytes > 0) {
		ssize_t n = write_some(app);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return sender_flow_lose(flow, errno, now_ns);
		if (n < 0)
			return loop_change(&flow->all->session.loop, &flow->watch,
					   EPOLLOUT | EPOLLRDHUP);
		app->owed_bytes -= (uint64_t)n;
	}
	return loop_change(&flow->all->session.loop, &flow->watch, EPOLLRDHUP);
}

static int
request(struct application_flow *app, int64_t now_ns)
{
	const struct application *video = app->flow->application;
	uint64_t bps = player_choose(&app->player, now_ns);
	uint64_t bytes = application_bytes(bps, 1, video->segment_ns);

	app->segment = (struct segment_record){
		.flow = app->flow->config->flow,
		.segment = (uint32_t)app->steps++,
		.bitrate_bps = bps,
		.size_bytes = bytes > 0 ? bytes : 1,
		.requested_ns = now_ns,
	};
	app->is_fetching = true;
	app->owed_bytes = app->segment.size_bytes;
	return supply(app, now_ns);
}

static int
request_when_there_is_room(struct application_flow *app, int64_t now_ns)
{
	int64_t next_ns = player_next_request_ns(&app->player);

	if (next_ns <= now_ns)
		return request(app, now_ns);
	application_call_at(app, next_ns);
	return 0;
}

static int
write_segment(struct application_flow *app)
{
	app->is_fetching = false;
	return record_file_append(&app->all->segments, &app->segment, sizeof(app->segment),
				  app->all->flows->session.failure);
}

static int
arrived(struct application_flow *app, int64_t now_ns)
{
	app->segment.completed_ns = now_ns;
	app->segment.stalled_ns = player_arrived(&app->player, now_ns);
	app->segment.buffer_ns = app->player.level_ns;
	return write_segment(app) < 0 ? -1 : request_when_there_is_room(app, now_ns);
}

/* Read what the kernel tells; of what is in it only that it came matters. */
static void
drain_told(int fd)
{
	char control[256];
	struct msghdr message;

	do {
		message = (struct msghdr){
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
	} while (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

static bool
is_all_acked(const struct application_flow *app)
{
	int left = 0;

	return app->is_fetching && app->owed_bytes == 0 &&
	       ioctl(app->flow->watch.fd, SIOCOUTQ, &left) == 0 && left == 0;
}

static int
video_ready(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);
	int error = (events & EPOLLERR) != 0 ? tcp_socket_error(watch->fd) : 0;

	if (error != 0 || (events & (EPOLLHUP | EPOLLRDHUP)) != 0)
		return sender_flow_lose(flow, error, now_ns);
	if ((events & EPOLLERR) != 0)
		drain_told(watch->fd);
	if (is_all_acked(flow->user))
		return arrived(flow->user, now_ns);
	return (events & EPOLLOUT) != 0 ? supply(flow->user, now_ns) : 0;
}

int
video_start(struct application_flow *app, int64_t now_ns)
{
	const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;
	struct sender_flow *flow = app->flow;

	if (setsockopt(flow->watch.fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) < 0)
		return failure_set(flow->all->session.failure, EXIT_STATUS_HOST,
				   "flow %u: SO_TIMESTAMPING: %s", flow->config->flow,
				   strerror(errno));
	tcp_socket_send_at_once(flow->watch.fd);
	app->player = (struct player){.video = flow->application, .level_at_ns = now_ns};
	return sender_flow_begin(flow, video_ready) < 0 ? -1 : request(app, now_ns);
}

int
video_due(struct application_flow *app, int64_t now_ns)
{
	return request(app, now_ns);
}

int
video_finish(struct application_flow *app)
{
	if (!app->is_fetching)
		return 0;
	app->segment.stalled_ns = player_stalled_ns(&app->player, app->flow->ended_ns);
	return write_segment(app);
}
