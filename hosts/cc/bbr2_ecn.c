/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBR version 2 with its answer to marks, for queues that mark above a low threshold and base RTTs up
 * to 5 ms.
 */
#define BBR_ECN true
#include "bbr2.c"
