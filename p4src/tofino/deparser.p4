// SPDX-License-Identifier: Apache-2.0
#ifndef NASHBED_TOFINO_DEPARSER_P4
#define NASHBED_TOFINO_DEPARSER_P4

// To the queue: stamp, bridge and frame. Unshaped: the frame alone.
control IngressDeparser(packet_out pkt,
                        inout headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        pkt.emit(hdr.stamp);
        pkt.emit(hdr.bridge);
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.ipv4);
        pkt.emit(hdr.tcp);
        pkt.emit(hdr.udp);
    }
}

// To the receivers: the frame, which was never extracted. Its mirror: mirror_h and
// as much of the frame as the session lets through. To the collector: Ethernet and
// postcard, and that rest of the frame, which nobody reads.
control EgressDeparser(packet_out pkt,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    Mirror() mirror;
    apply {
        if (to_deparser.mirror_type == MIRROR_POSTCARD) {
            mirror.emit<mirror_h>(meta.mirror_session, {
                meta.pass,
                meta.lane,
                meta.flow,
                hdr.stamp.frame_bytes,
                meta.queue_cells,
                hdr.stamp.ingress_ns,
                meta.dequeue_ns,
                hdr.bridge.tcp_seq,
                meta.lane_seq,
                hdr.bridge.payload_bytes,
                hdr.bridge.tcp_flags
            });
        }
        pkt.emit(hdr.report_ethernet);
        pkt.emit(hdr.postcard);
    }
}

#endif
