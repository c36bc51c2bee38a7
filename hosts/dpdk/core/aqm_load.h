/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A discipline of a user's own: a shared object that aqm.h's AQM_EXPORT() gives its name. */
#ifndef NASHBED_AQM_LOAD_H
#define NASHBED_AQM_LOAD_H

#include "aqm.h"

/* The discipline in a shared object, which stays loaded; NULL with a line for people. */
const struct aqm_ops *aqm_load(const char *path, char *problem, size_t problem_bytes);

#endif
