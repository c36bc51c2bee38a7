/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of many sockets, each with the kernel's time of its arrival. */
#ifndef PROBE_INBOX_H
#define PROBE_INBOX_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "common/failure.h"
#include "message.h"

struct datagram {
	size_t socket;
	int64_t received_ns; /* CLOCK_MONOTONIC */
	uint32_t bytes;	     /* of the datagram */
	struct sockaddr_in source;
	struct message message; /* its beginning; the rest, if it is shorter, is 0 */
};

typedef int (*inbox_handler)(void *owner, const struct datagram *datagram);

/* Everything that lies ready in a socket, without waiting. */
int inbox_drain(int fd, size_t socket, inbox_handler handle, void *owner, struct failure *failure);

#endif
