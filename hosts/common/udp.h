/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* UDP sockets whose datagrams carry the kernel's time of arrival. */
#ifndef COMMON_UDP_H
#define COMMON_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/failure.h"

/*
 * A socket bound to an address; `flags` go beside its type. Its buffers hold `buffer_bytes`, so
 * that a reader that is held up for a while loses nothing; that needs a right, and without it the
 * usual ones are used and a loss is seen. Returns the descriptor, or -1.
 */
int udp_open(const struct sockaddr_in *local, int flags, int buffer_bytes, struct failure *failure);

/* Have arrivals stamped, with CLOCK_REALTIME. Returns the descriptor, or -1: it is closed. */
int udp_stamp(int fd, const struct sockaddr_in *local, struct failure *failure);

/* Returns the descriptor, or -1: it is closed. */
int udp_connect(int fd, const struct sockaddr_in *remote, struct failure *failure);

/* When a datagram arrived; 0: it is not stamped. */
int64_t udp_arrival_ns(struct msghdr *header);

#endif
