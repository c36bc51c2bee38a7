/* SPDX-License-Identifier: Apache-2.0 */
/* The TCP sockets of flows, and of control connections. */
#ifndef FLOWS_TCP_SOCKET_H
#define FLOWS_TCP_SOCKET_H

#include "config.h"

struct tcp_segments {
	uint32_t sent;
	uint32_t received_data; /* out of order and repeated ones included */
};

/*
 * A non-blocking socket with the flow's CCA, bound to its source. At most
 * unsent_bytes wait in the kernel beyond what the windows let out. Returns the descriptor or -1.
 */
int tcp_socket_open(const struct flow_config *flow, unsigned int unsent_bytes,
		    struct failure *failure);

/* Give a socket the flow's CCA. */
int tcp_socket_set_cc(int fd, const struct flow_config *flow, struct failure *failure);

/*
 * Before it is connected: ask for ECN, or where it listens, grant it to whoever asks. It has
 * another CCA then, and so have the connections of a socket that listens: set the flow's when the
 * connection is there.
 */
int tcp_socket_ask_for_ecn(int fd, struct failure *failure);

/* Before it is connected: its packets have the flow's DSCP. ECN's two bits are the kernel's. */
int tcp_socket_set_dscp(int fd, const struct flow_config *flow, struct failure *failure);

/* Whether both sides of a connection agreed on ECN. */
bool tcp_socket_has_ecn(int fd);

/* A non-blocking socket that sends every small message at once. Returns the descriptor or -1. */
int tcp_socket_open_control(const struct sockaddr_in *source, struct failure *failure);

/* Send small messages at once. */
int tcp_socket_send_at_once(int fd);

/* A listening socket has a connection when its first data is there: one wake-up less. */
void tcp_socket_accept_with_data(int fd);

/* A socket is readable when so many bytes wait. */
int tcp_socket_wake_at(int fd, unsigned int bytes);

/* The CCA that the kernel really uses. */
int tcp_socket_read_cc(int fd, char cc[static CC_NAME_BYTES]);

/* Be told, by EPOLLERR, when what was written is acknowledged; forget what was told so far. */
int tcp_socket_notify_acks(int fd, const struct flow_config *flow, struct failure *failure);
void tcp_socket_drop_notices(int fd);

/* Bytes that were written and not yet acknowledged. */
int tcp_socket_unacknowledged(int fd);

/* The error that broke the connection, or 0. */
int tcp_socket_error(int fd);

/* What the kernel counts for a socket, ended by a reset or not. */
struct tcp_segments tcp_socket_segments(int fd);

/* Close with a reset: nothing that is still buffered is sent. */
void tcp_socket_abort(int fd);

#endif
