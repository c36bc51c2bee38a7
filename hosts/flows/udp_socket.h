/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP sockets of flows, and what arrives at one. */
#ifndef FLOWS_UDP_SOCKET_H
#define FLOWS_UDP_SOCKET_H

#include "config.h"
#include "datagram.h"

/* A datagram that has arrived. */
struct datagram {
	struct sockaddr_in source;
	uint32_t bytes;	    /* payload */
	int64_t arrived_ns; /* as the kernel stamped it, CLOCK_MONOTONIC */
	struct datagram_header header;
};

/* A flow's socket, between its source and its destination. Returns the descriptor or -1. */
int udp_socket_open(const struct flow_config *flow, struct failure *failure);

/* A socket that receives what is sent to an address. Returns the descriptor or -1. */
int udp_socket_listen(const struct sockaddr_in *address, struct failure *failure);

/*
 * Take up to `most` datagrams that have arrived; `shift_ns` leads from the kernel's stamps to
 * CLOCK_MONOTONIC. Returns their number, or -1 with errno set.
 */
int udp_socket_receive(int fd, int64_t shift_ns, struct datagram *datagrams, int most);

/* How far CLOCK_MONOTONIC is ahead of CLOCK_REALTIME, with which the kernel stamps. */
int64_t udp_socket_clock_shift_ns(void);

#endif
