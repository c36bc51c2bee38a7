// SPDX-License-Identifier: Apache-2.0
// The bottleneck on DPDK's SWX pipeline (PNA, p4c-dpdk): table of contents.
#include <core.p4>
#include <dpdk/pna.p4>

#include "../common/types.p4"
#include "../common/headers.p4"
#include "../common/bridge.p4"
#include "../common/postcard.p4"
#include "intrinsic.p4"
#include "parser.p4"

// Each flow's bytes between arrival and departure or drop: ingress adds,
// egress subtracts.
Register<bit<64>, bit<32>>(FLOW_CAPACITY) in_queue_bytes;

#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

control BottleneckPre(in headers_t hdr,
                      inout metadata_t meta,
                      in pna_pre_input_metadata_t istd,
                      inout pna_pre_output_metadata_t ostd) {
    apply {}
}

control Bottleneck(inout headers_t hdr,
                   inout metadata_t meta,
                   in pna_main_input_metadata_t istd,
                   inout pna_main_output_metadata_t ostd) {
    BottleneckIngress() ingress;
    BottleneckEgress() egress;
    apply {
        if (hdr.intrinsic.pass == PASS_INGRESS) {
            ingress.apply(hdr, meta);
        } else {
            egress.apply(hdr, meta);
        }
    }
}

PNA_NIC(BottleneckParser(), BottleneckPre(), Bottleneck(), BottleneckDeparser()) main;
