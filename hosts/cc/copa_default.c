// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The paper's Copa in its default mode alone, delta = 0.5: it never competes for the queue. */
#define COPA_COMPETES false
#define COPA_MVFST false
#include "copa.h"
