/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the control socket can be asked. Control thread only. */
#ifndef NASHBED_COMMANDS_H
#define NASHBED_COMMANDS_H

#include <jansson.h>
#include <stdbool.h>

#include "plane/dataplane.h"

struct commands;

struct commands *commands_create(struct dataplane *dp);
void commands_destroy(struct commands *c);

/* Whether the request is one of the commands, right or wrong; what is not JSON counts as one. */
bool commands_has(const char *line, size_t bytes);

/* The answer to one request, a new reference; never NULL but out of memory. */
json_t *commands_answer(struct commands *c, const char *line, size_t bytes);

#endif
