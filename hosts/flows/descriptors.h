/* SPDX-License-Identifier: Apache-2.0 */
/* Raises the limit of open files to one per flow. */
#ifndef FLOWS_DESCRIPTORS_H
#define FLOWS_DESCRIPTORS_H

#include <stddef.h>

#include "common/failure.h"

int descriptors_reserve(size_t flow_count, struct failure *failure);

#endif
