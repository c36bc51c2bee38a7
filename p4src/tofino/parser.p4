// SPDX-License-Identifier: Apache-2.0
#ifndef NASHBED_TOFINO_PARSER_P4
#define NASHBED_TOFINO_PARSER_P4

struct headers_t {
    // made by egress for the collector
    ethernet_h report_ethernet;
    postcard_h postcard;
    // between the passes
    mirror_h   mirror;
    stamp_h    stamp;
    bridge_h   bridge;
    // the frame
    ethernet_h ethernet;
    ipv4_h     ipv4;
    tcp_h      tcp;
    udp_h      udp;
}

struct ingress_metadata_t {
    bit<1>  from_senders;
    bit<8>  unshaped;          // UNSHAPED_*
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> tcp_seq;
    bit<8>  tcp_flags;
    bit<16> ip_payload_bytes;
    bit<16> l4_header_bytes;
    bit<16> payload_bytes;
    bit<16> frame_bytes;
    bit<16> room;              // left in a byte count's low word before this frame fills it
    bit<32> clock_high;
    bit<32> clock_low;
    flow_index_t flow;
}

struct egress_metadata_t {
    MirrorId_t        mirror_session;
    pass_t            pass;
    lane_index_t      lane;
    flow_index_t      flow;
    bit<32>           queue_cells;
    bit<32>           lane_seq;
    bit<16>           frame_bytes;
    bit<16>           room;
    bit<32>           now_ns;        // low words of the clock: what a stay is measured by
    bit<32>           arrived_ns;
    bit<32>           stay_ns;
    bit<32>           bin;           // of the histogram, as wide as what it is made of
    time_ns_t         dequeue_ns;
}

parser IngressParser(packet_in pkt,
                     out headers_t hdr,
                     out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        pkt.extract(intrinsic);
        pkt.advance(PORT_METADATA_SIZE);
        meta = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        transition parse_ethernet;
    }

    state parse_ethernet {
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        pkt.extract(hdr.ipv4);
        transition select(hdr.ipv4.version_ihl, hdr.ipv4.protocol) {
            (IPV4_NO_OPTIONS, PROTO_TCP): parse_tcp;
            (IPV4_NO_OPTIONS, PROTO_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        pkt.extract(hdr.tcp);
        meta.src_port = hdr.tcp.src_port;
        meta.dst_port = hdr.tcp.dst_port;
        meta.tcp_seq = hdr.tcp.seq;
        meta.tcp_flags = hdr.tcp.flags;
        transition accept;
    }

    state parse_udp {
        pkt.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition accept;
    }
}

// The frame itself is not looked at again.
parser EgressParser(packet_in pkt,
                    out headers_t hdr,
                    out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t intrinsic) {
    state start {
        pkt.extract(intrinsic);
        meta = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        transition select(pkt.lookahead<pass_t>()) {
            PASS_SHAPED: parse_shaped;
            PASS_DEPARTED: parse_mirrored;
            PASS_DROPPED: parse_mirrored;
            default: accept;
        }
    }

    state parse_shaped {
        pkt.extract(hdr.stamp);
        pkt.extract(hdr.bridge);
        transition accept;
    }

    state parse_mirrored {
        pkt.extract(hdr.mirror);
        transition accept;
    }
}

#endif
