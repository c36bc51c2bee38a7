// SPDX-License-Identifier: Apache-2.0
// The bottleneck on Tofino 1.
#include <core.p4>
#include <tna.p4>

#include "intrinsic_tofino1.p4"
#include "bottleneck.p4"
