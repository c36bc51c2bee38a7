/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers: lines of JSON through a file of the guest's kernel. Virtual time stands
 * still while a request is waited for.
 */
#ifndef GUEST_CHANNEL_H
#define GUEST_CHANNEL_H

#include <jansson.h>
#include <stddef.h>

#include "common/failure.h"

struct channel {
	int fd;
	char *line;
	size_t capacity;
};

int channel_open(struct channel *channel, struct failure *failure);

/* Wait for a request: its text, valid until the next one, and its length in *bytes. NULL: there
 * will be none, or the failure is set.
 */
const char *channel_read(struct channel *channel, size_t *bytes, struct failure *failure);

/* Takes the reference to the answer. */
int channel_write(struct channel *channel, json_t *answer, struct failure *failure);

/* A text and a newline, however many calls that takes. 0, or -1 with errno set. */
int write_line(int fd, const char *text);

#endif
