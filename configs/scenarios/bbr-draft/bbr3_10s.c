/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBRv3 with ProbeRTT every 10 s, as long as its filter of the min RTT. */
#define BBR_PROBE_RTT_EVERY_US 10000000ULL
#define BBR_MIN_RTT_WINDOW_US 10000000ULL
#include "bbr3.c"
