/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/udp.h"
#include "datagrams.h"

#define BATCH 64
#define BUFFER_BYTES (128 << 20)

int
datagrams_open(const struct socket_config *config, struct failure *failure)
{
	int fd = udp_open(&config->local, 0, BUFFER_BYTES, failure);

	if (fd >= 0)
		fd = udp_stamp(fd, &config->local, failure);
	if (fd < 0 || config->remote.sin_port == 0)
		return fd;
	return udp_connect(fd, &config->remote, failure);
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
		.received_ns = udp_arrival_ns(&header->msg_hdr) + shift_ns,
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
