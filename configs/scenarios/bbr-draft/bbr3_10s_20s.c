/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBRv3 with ProbeRTT every 10 s and a filter of the min RTT that is twice as long, as 10 s is of 5 s. */
#define BBR_PROBE_RTT_EVERY_US 10000000ULL
#define BBR_MIN_RTT_WINDOW_US 20000000ULL
#include "bbr3.c"
