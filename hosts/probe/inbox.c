/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "inbox.h"

#define BATCH 64

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
	  inbox_handler handle, void *owner)
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
inbox_drain(int fd, size_t socket, inbox_handler handle, void *owner, struct failure *failure)
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
