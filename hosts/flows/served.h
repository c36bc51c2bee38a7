/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's kernel serves the data of flows where it is ours (hosts/uml/nashbed_flows.c): no
 * system call per segment. On other kernels nothing is served, and the process does it.
 */
#ifndef FLOWS_SERVED_H
#define FLOWS_SERVED_H

#include <stdbool.h>
#include <stddef.h>

#include "uml/nashbed_flows.h"

/* The service's descriptor, or -1 where there is none. */
int served_open(void);

/* False: this process is to serve the socket itself. */
bool served_take(int service, int fd, enum nashbed_flows_mode mode);

/* Before the socket is closed. */
void served_give_back(int service, int fd);

/* Read what waits on these sockets, and what has been read since they were taken. */
int served_read(int service, struct nashbed_flows_count *rows, size_t count);

/* What the kernel knows of these sockets, at one instant. */
int served_sample(int service, struct nashbed_flows_sample *rows, size_t count);

#endif
