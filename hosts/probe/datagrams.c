/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "datagrams.h"

#define BATCH 64
/* Of received datagrams: a reader that is held up for a second loses none. */
#define BUFFER_BYTES (128 << 20)

static int
fail(int fd, const char *step, const struct sockaddr_in *address, struct failure *failure)
{
	int error = errno;
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return failure_set(failure, EXIT_STATUS_HOST, "%s:%u: %s: %s", text,
			   ntohs(address->sin_port), step, strerror(error));
}

/* The larger buffers need a right; without it the usual ones are used, and a loss is counted. */
static int
set_options(int fd)
{
	int bytes = BUFFER_BYTES;
	int on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
}

int
datagrams_open(const struct socket_config *config, struct failure *failure)
{
	const struct sockaddr *local = (const struct sockaddr *)&config->local;
	const struct sockaddr *remote = (const struct sockaddr *)&config->remote;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || set_options(fd) < 0)
		return fail(fd, "socket", &config->local, failure);
	if (bind(fd, local, sizeof(config->local)) < 0)
		return fail(fd, "bind", &config->local, failure);
	if (config->remote.sin_port != 0 && connect(fd, remote, sizeof(config->remote)) < 0)
		return fail(fd, "connect", &config->remote, failure);
	return fd;
}

struct slot {
	struct message message;
	struct sockaddr_in source;
	struct iovec part;
	char control[64];
};

/* The kernel stamps with CLOCK_REALTIME; how far is that from CLOCK_MONOTONIC now? */
static int64_t
realtime_to_monotonic_ns(void)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	return clock_now_ns() - (real.tv_sec * SECOND_NS + real.tv_nsec);
}

static int64_t
stamp_of(struct msghdr *header)
{
	struct timespec stamp;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
		return stamp.tv_sec * SECOND_NS + stamp.tv_nsec;
	}
	return 0;
}

static void
prepare(struct slot *slot, struct mmsghdr *header)
{
	memset(slot, 0, sizeof(*slot));
	slot->part = (struct iovec){&slot->message, sizeof(slot->message)};
	header->msg_hdr = (struct msghdr){
		.msg_name = &slot->source,
		.msg_namelen = sizeof(slot->source),
		.msg_iov = &slot->part,
		.msg_iovlen = 1,
		.msg_control = slot->control,
		.msg_controllen = sizeof(slot->control),
	};
}

static int
hand_over(struct slot *slot, struct mmsghdr *header, size_t socket, int64_t shift_ns,
	  datagram_handler handle, void *owner)
{
	struct datagram datagram = {
		.socket = socket,
		.received_ns = stamp_of(&header->msg_hdr) + shift_ns,
		.bytes = header->msg_len,
		.source = slot->source,
		.message = slot->message,
	};

	return handle(owner, &datagram);
}

int
datagrams_drain(int fd, size_t socket, datagram_handler handle, void *owner,
		struct failure *failure)
{
	struct slot slots[BATCH];
	struct mmsghdr headers[BATCH];
	int64_t shift_ns;
	int n;

	do {
		for (int i = 0; i < BATCH; i++)
			prepare(&slots[i], &headers[i]);
		/* MSG_TRUNC: report the whole length, though only the beginning is stored. */
		n = recvmmsg(fd, headers, BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED))
			return 0;
		if (n < 0)
			return failure_set(failure, EXIT_STATUS_HOST, "receive: %s",
					   strerror(errno));
		shift_ns = realtime_to_monotonic_ns();
		for (int i = 0; i < n; i++)
			if (hand_over(&slots[i], &headers[i], socket, shift_ns, handle, owner) < 0)
				return -1;
	} while (n == BATCH);
	return 0;
}
