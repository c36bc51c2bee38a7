/* SPDX-License-Identifier: Apache-2.0 */
#include "udp_socket.h"

#include "common/clock.h"
#include "common/udp.h"

#define BUFFER_BYTES (16 << 20)
#define BATCH 32
#define CLOCK_READINGS 8

int
udp_socket_open(const struct flow_config *flow, struct failure *failure)
{
	int fd = udp_open(&flow->source, SOCK_NONBLOCK, BUFFER_BYTES, failure);

	return fd < 0 ? fd : udp_connect(fd, &flow->destination, failure);
}

int
udp_socket_listen(const struct sockaddr_in *address, struct failure *failure)
{
	int fd = udp_open(address, SOCK_NONBLOCK, BUFFER_BYTES, failure);

	return fd < 0 ? fd : udp_stamp(fd, address, failure);
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
		datagrams[i].arrived_ns = udp_arrival_ns(&headers[i].msg_hdr) + shift_ns;
		datagrams[i].header = datagram_decode(slots[i].bytes);
	}
	return n;
}
