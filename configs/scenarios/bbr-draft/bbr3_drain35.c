/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBRv3 with a pacing gain of 0.35 in Drain. */
#define BBR_DRAIN_PACING 90
#include "bbr3.c"
