// SPDX-License-Identifier: Apache-2.0
// The bottleneck on Tofino 2.
#include <core.p4>
#include <t2na.p4>

#include "intrinsic_tofino2.p4"
#include "bottleneck.p4"
