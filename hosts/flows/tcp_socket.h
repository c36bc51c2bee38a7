/* SPDX-License-Identifier: Apache-2.0 */
/* One flow's TCP socket. */
#ifndef FLOWS_TCP_SOCKET_H
#define FLOWS_TCP_SOCKET_H

#include "config.h"

/*
 * A non-blocking socket with the flow's congestion control, bound to its source. At most
 * unsent_bytes wait in the kernel beyond what the windows let out. Returns the descriptor or -1.
 */
int tcp_socket_open(const struct flow_config *flow, unsigned int unsent_bytes,
		    struct failure *failure);

/* The congestion control that the kernel really uses. */
int tcp_socket_read_cc(int fd, char cc[static CC_NAME_BYTES]);

/* The error that broke the connection, or 0. */
int tcp_socket_error(int fd);

/* Close with a reset: nothing that is still buffered is sent. */
void tcp_socket_abort(int fd);

#endif
