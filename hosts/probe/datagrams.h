/* SPDX-License-Identifier: Apache-2.0 */
/* UDP sockets, their datagrams with the kernel's time of arrival, and what a datagram says. */
#ifndef PROBE_DATAGRAMS_H
#define PROBE_DATAGRAMS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "common/failure.h"
#include "common/shared.h"
#include "config.h"

#define HEADER_BYTES (ETHERNET_BYTES + 20u + 8u) /* Ethernet, IPv4, UDP */
#define MESSAGE_MARK 0x6e626531u

/* The sequence, in the records, of a datagram that is not a prober's. */
#define UNNUMBERED UINT32_MAX

/*
 * The beginning of a prober's datagram. Both ends are this program on machines of one byte
 * order; the mark distinguishes ours from another sender's load.
 */
struct message {
	uint32_t mark;
	uint32_t sequence;
	uint32_t flags;
	uint32_t reserved;
	int64_t reflected_ns; /* from here on only in an echo */
	int64_t returned_ns;
};

/* What every frame holds; an echo holds all of it. */
#define NUMBER_BYTES 16u
#define LEAST_ECHO_BYTES (HEADER_BYTES + (uint32_t)sizeof(struct message))

struct datagram {
	size_t socket;
	int64_t received_ns; /* CLOCK_MONOTONIC */
	uint32_t bytes;	     /* of the datagram */
	struct sockaddr_in source;
	struct message message; /* its beginning; the rest, if it is shorter, is 0 */
};

typedef int (*datagram_handler)(void *owner, const struct datagram *datagram);

/* Returns the descriptor, or -1 with the failure set; connected where there is a remote. */
int datagrams_open(const struct socket_config *config, struct failure *failure);

/* Hand over everything that lies ready in a socket, without waiting. */
int datagrams_drain(int fd, size_t socket, datagram_handler handle, void *owner,
		    struct failure *failure);

#endif
