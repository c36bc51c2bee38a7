/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_WRITE_ALL_H
#define GUEST_WRITE_ALL_H

#include <stddef.h>

/* Every byte of a text, however many calls that takes. 0, or -1 with errno set. */
int write_all(int fd, const char *text, size_t bytes);

#endif
