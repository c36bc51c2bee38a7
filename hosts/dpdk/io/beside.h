/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Files that the build puts beside the program. */
#ifndef NASHBED_BESIDE_H
#define NASHBED_BESIDE_H

#include <stddef.h>

#include "common/failure.h"

/* The path of a place beside the file that this code is in: the program, or the library that
 * a guest has loaded. 0, or -1 with the failure set.
 */
int beside(const char *place, char *path, size_t bytes, struct failure *failure);

#endif
