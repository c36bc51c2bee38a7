/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of one role, checked completely before a socket is opened. */
#ifndef PROBE_CONFIG_H
#define PROBE_CONFIG_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "common/failure.h"

#define MAX_SOCKETS 64

enum role {
	ROLE_PROBER,
	ROLE_REFLECTOR,
};

struct socket_config {
	struct sockaddr_in local;
	struct sockaddr_in remote; /* a prober's only */
};

struct config {
	enum role role;
	char *out;	/* a directory */
	char *schedule; /* a prober's only */
	int64_t linger_ns;
	struct socket_config sockets[MAX_SOCKETS];
	size_t socket_count;
};

int config_load(struct config *config, const char *path, struct failure *failure);
void config_free(struct config *config);

#endif
