/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest can be asked. */
#ifndef GUEST_REQUESTS_H
#define GUEST_REQUESTS_H

#include <jansson.h>
#include <stddef.h>

/* The answer to one request, a new reference; NULL when memory has run out. */
json_t *requests_answer(const char *line, size_t bytes);

#endif
