// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Copa that stays in its default mode, as mvfst deploys it: it never competes for the queue. */
#define COPA_COMPETES false
#include "copa.h"
