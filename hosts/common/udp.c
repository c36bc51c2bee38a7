/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "common/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

static int
fail(int fd, const char *step, const struct sockaddr_in *address, struct failure *failure)
{
	int error = errno;
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return failure_set(failure, EXIT_STATUS_HOST, "UDP %s:%u: cannot %s: %s%s", text,
			   ntohs(address->sin_port), step, strerror(error),
			   error == EADDRNOTAVAIL ? "; no interface here has this address" : "");
}

int
udp_open(const struct sockaddr_in *local, int flags, int buffer_bytes, struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0)
		return fail(fd, "open a socket", local, failure);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof(buffer_bytes));
	if (bind(fd, (const struct sockaddr *)local, sizeof(*local)) < 0)
		return fail(fd, "bind it", local, failure);
	return fd;
}

int
udp_stamp(int fd, const struct sockaddr_in *local, struct failure *failure)
{
	const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0)
		return fail(fd, "have arrivals stamped", local, failure);
	return fd;
}

int
udp_connect(int fd, const struct sockaddr_in *remote, struct failure *failure)
{
	if (connect(fd, (const struct sockaddr *)remote, sizeof(*remote)) < 0)
		return fail(fd, "connect to it", remote, failure);
	return fd;
}

int64_t
udp_arrival_ns(struct msghdr *header)
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
