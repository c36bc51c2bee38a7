// SPDX-License-Identifier: Apache-2.0
// The bottleneck on bmv2's simple_switch (v1model, p4c-bm2-ss): table of contents.
#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>

#include "../common/types.p4"
#include "../common/headers.p4"
#include "../common/postcard.p4"
#include "intrinsic.p4"
#include "parser.p4"

// The queue's state, shared: ingress adds a packet that fits, egress takes it
// out. simple_switch gives an action all registers that it names for its whole
// length, so whatever must hold together happens in one action of each side.
register<bit<64>, bit<32>>(LANE_CAPACITY) limit_bytes;     // set by the control plane
register<bit<48>, bit<32>>(LANE_CAPACITY) slot_ns;         // likewise: a packet's time on the link
register<bit<64>, bit<32>>(LANE_CAPACITY) queue_bytes;     // waiting or on the link
register<bit<64>, bit<32>>(LANE_CAPACITY) on_link_bytes;   // the packet on the link
register<bit<48>, bit<32>>(LANE_CAPACITY) on_link_until_ns;
register<bit<48>, bit<32>>(LANE_CAPACITY) last_event_ns;   // arrival or departure
register<bit<64>, bit<32>>(FLOW_CAPACITY) in_queue_bytes;

#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

V1Switch(BottleneckParser(),
         NoChecksum(),
         BottleneckIngress(),
         BottleneckEgress(),
         NoChecksum(),
         BottleneckDeparser()) main;
