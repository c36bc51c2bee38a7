/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "udp_socket.h"

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
udp_socket_open(const struct socket_config *config, struct failure *failure)
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
