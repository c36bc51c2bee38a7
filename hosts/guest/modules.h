/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of the guest's kernel: congestion controls that are no part of it. */
#ifndef GUEST_MODULES_H
#define GUEST_MODULES_H

#include "common/failure.h"

/* Insert the module of a file. It stays until the guest ends. */
int module_insert(const char *path, struct failure *failure);

#endif
