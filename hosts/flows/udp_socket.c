/* SPDX-License-Identifier: Apache-2.0 */
#include "udp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

/* Of received datagrams: a reader that is held up for a while loses none. */
#define BUFFER_BYTES (16 << 20)
#define BATCH 32
#define CLOCK_READINGS 8

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

static int
open_bound(const struct sockaddr_in *address, struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int bytes = BUFFER_BYTES;

	if (fd < 0)
		return fail(fd, "open a socket", address, failure);
	/* Larger buffers need a right; without it the usual ones are used, and a loss is seen. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return fail(fd, "bind it", address, failure);
	return fd;
}

int
udp_socket_open(const struct flow_config *flow, struct failure *failure)
{
	int fd = open_bound(&flow->source, failure);

	if (fd >= 0 &&
	    connect(fd, (const struct sockaddr *)&flow->destination, sizeof(flow->destination)) < 0)
		return fail(fd, "connect to it", &flow->destination, failure);
	return fd;
}

int
udp_socket_listen(const struct sockaddr_in *address, struct failure *failure)
{
	int fd = open_bound(address, failure);
	const int on = 1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0)
		return fail(fd, "have arrivals stamped", address, failure);
	return fd;
}

static int64_t
realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* Of several readings the one that took least; in virtual time each takes the same. */
int64_t
udp_socket_clock_shift_ns(void)
{
	int64_t least_ns = NEVER;
	int64_t shift_ns = 0;

	for (int i = 0; i < CLOCK_READINGS; i++) {
		int64_t before_ns = clock_now_ns();
		int64_t real_ns = realtime_ns();
		int64_t took_ns = clock_now_ns() - before_ns;

		if (took_ns >= least_ns)
			continue;
		least_ns = took_ns;
		shift_ns = before_ns + took_ns / 2 - real_ns;
	}
	return shift_ns;
}

struct slot {
	uint8_t bytes[DATAGRAM_BYTES_MIN];
	struct iovec part;
	char control[CMSG_SPACE(sizeof(struct timespec))];
};

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

int
udp_socket_receive(int fd, int64_t shift_ns, struct datagram *datagrams, int most)
{
	struct slot slots[BATCH];
	struct mmsghdr headers[BATCH] = {0};
	int n = most < BATCH ? most : BATCH;

	for (int i = 0; i < n; i++) {
		slots[i].part = (struct iovec){slots[i].bytes, sizeof(slots[i].bytes)};
		headers[i].msg_hdr = (struct msghdr){
			.msg_name = &datagrams[i].source,
			.msg_namelen = sizeof(datagrams[i].source),
			.msg_iov = &slots[i].part,
			.msg_iovlen = 1,
			.msg_control = slots[i].control,
			.msg_controllen = sizeof(slots[i].control),
		};
	}
	/* MSG_TRUNC: tell the whole length, though only the header is copied. */
	n = recvmmsg(fd, headers, (unsigned int)n, MSG_DONTWAIT | MSG_TRUNC, NULL);
	for (int i = 0; i < n; i++) {
		datagrams[i].bytes = headers[i].msg_len;
		datagrams[i].arrived_ns = stamp_of(&headers[i].msg_hdr) + shift_ns;
		datagrams[i].header = datagram_decode(slots[i].bytes);
	}
	return n;
}
