// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Copa as its paper has it, with the mode that competes with flows that fill the queue. */
#define COPA_COMPETES true
#define COPA_MVFST false
#include "copa.h"
