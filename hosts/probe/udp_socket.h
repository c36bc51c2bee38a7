/* SPDX-License-Identifier: Apache-2.0 */
/* UDP sockets whose datagrams carry the kernel's time of arrival. */
#ifndef PROBE_UDP_SOCKET_H
#define PROBE_UDP_SOCKET_H

#include "config.h"

/* Returns the descriptor, or -1 with the failure set; connected where there is a remote. */
int udp_socket_open(const struct socket_config *config, struct failure *failure);

#endif
