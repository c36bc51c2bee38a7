/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A discipline or a policy of shared memory in JSON: its name and its parameters, and beside them
 * "seed", and "file", the shared object of a user's own.
 */
#ifndef NASHBED_SETUP_JSON_H
#define NASHBED_SETUP_JSON_H

#include "common/json_fields.h"

/* The target is a struct aqm_setup or a struct memory_setup, with its `check` not done. */
extern const struct json_kind as_aqm_setup;
extern const struct json_kind as_memory_setup;

#endif
