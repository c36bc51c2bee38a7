// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Copa as mvfst has it (github.com/facebook/mvfst, quic/congestion_control/Copa.cpp) with its defaults:
 * the default mode alone, delta = 0.05, the delay by the latest RTT, no reaction to losses.
 */
#define COPA_COMPETES false
#define COPA_MVFST true
#include "copa.h"
