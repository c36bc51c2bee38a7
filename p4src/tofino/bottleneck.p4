// SPDX-License-Identifier: Apache-2.0
// The bottleneck on Tofino (TNA): table of contents. The chip's own main file
// includes its architecture and this.
#ifndef NASHBED_TOFINO_BOTTLENECK_P4
#define NASHBED_TOFINO_BOTTLENECK_P4

#include "../common/types.p4"
#include "../common/headers.p4"
#include "../common/bridge.p4"
#include "../common/postcard.p4"
#include "intrinsic.p4"
#include "parser.p4"
#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

Pipeline(IngressParser(),
         BottleneckIngress(),
         IngressDeparser(),
         EgressParser(),
         BottleneckEgress(),
         EgressDeparser()) bottleneck;

Switch(bottleneck) main;

#endif
