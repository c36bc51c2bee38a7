/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A discipline or a policy of memory of a user's own: a shared object that AQM_EXPORT() of aqm.h or
 * MEMORY_EXPORT() of memory.h gives its name.
 */
#ifndef NASHBED_AQM_LOAD_H
#define NASHBED_AQM_LOAD_H

#include "memory.h"

/* What is in a shared object, which stays loaded; NULL with a line for people. */
const struct aqm_ops *aqm_load(const char *path, char *problem, size_t problem_bytes);
const struct memory_ops *memory_load(const char *path, char *problem, size_t problem_bytes);

#endif
