/* SPDX-License-Identifier: Apache-2.0 */
/* The record layouts as JSON, for --layouts. */
#ifndef FLOWS_LAYOUTS_H
#define FLOWS_LAYOUTS_H

#include <stdio.h>

#include "common/failure.h"

int layouts_print(FILE *stream, struct failure *failure);

#endif
