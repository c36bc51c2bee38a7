// SPDX-License-Identifier: Apache-2.0
#ifndef NASHBED_DPDK_PARSER_P4
#define NASHBED_DPDK_PARSER_P4

struct headers_t {
    intrinsic_h intrinsic;
    postcard_h  postcard;
    queue_postcard_h queue_postcard;
    bridge_h    bridge;
    ethernet_h  ethernet;
    ipv4_h      ipv4;
    tcp_h       tcp;
    udp_h       udp;
}

struct metadata_t {
    // The flow table's key: side by side, as SWX wants it.
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<16> src_port;
    bit<16> dst_port;
    bit<8>  protocol;
    // The DSCP table's key, likewise.
    bit<16> lane;
    bit<8>  dscp;
    // ingress
    bit<8>  tcp_flags;
    bit<32> tcp_seq;
    bit<16> l4_minimum_bytes;  // 0: no layer-4 header of ours
    bit<16> l4_header_bytes;
    bit<16> headers_bytes;
    bit<16> payload_bytes;
    bit<32> frame_bytes;       // as IP's total length has it
    bit<32> unshaped;          // UNSHAPED_*
    // egress
    bit<32> lane_index;
    bit<32> lane_seq;
    bit<64> first_bin;         // of the lane's histogram
    bit<64> bin;
    bit<64> enqueue_ns;
    bit<64> peak_bytes;
    bit<32> added;             // to the ECN field
    bit<32> sum;               // one's complement of the IPv4 header's checksum
    bit<32> carry;
    // both
    bit<64> flow_bytes;
}

parser BottleneckParser(packet_in pkt,
                        out headers_t hdr,
                        inout metadata_t meta,
                        in pna_main_parser_input_metadata_t istd) {
    state start {
        pkt.extract(hdr.intrinsic);
        meta.l4_minimum_bytes = 0;
        transition select(hdr.intrinsic.pass) {
            PASS_INGRESS: parse_ethernet;
            default: parse_bridge;
        }
    }

    // Second pass: the frame itself is not looked at again, but to set CE in it.
    state parse_bridge {
        pkt.extract(hdr.bridge);
        transition select(hdr.intrinsic.pass) {
            PASS_MARKED: parse_marked;
            default: accept;
        }
    }

    state parse_marked {
        pkt.extract(hdr.ethernet);
        pkt.extract(hdr.ipv4);
        transition accept;
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
        meta.src_addr = hdr.ipv4.src_addr;
        meta.dst_addr = hdr.ipv4.dst_addr;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.version_ihl) {
            IPV4_NO_OPTIONS: parse_l4;
            default: accept;
        }
    }

    state parse_l4 {
        transition select(hdr.ipv4.protocol) {
            PROTO_TCP: parse_tcp;
            PROTO_UDP: parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        pkt.extract(hdr.tcp);
        meta.l4_minimum_bytes = (bit<16>)TCP_BYTES;
        meta.l4_header_bytes = (bit<16>)(hdr.tcp.data_offset_reserved & 0xf0);
        meta.l4_header_bytes = meta.l4_header_bytes >> 2;
        meta.src_port = hdr.tcp.src_port;
        meta.dst_port = hdr.tcp.dst_port;
        meta.tcp_seq = hdr.tcp.seq;
        meta.tcp_flags = hdr.tcp.flags;
        transition accept;
    }

    state parse_udp {
        pkt.extract(hdr.udp);
        meta.l4_minimum_bytes = (bit<16>)UDP_BYTES;
        meta.l4_header_bytes = (bit<16>)UDP_BYTES;
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        meta.tcp_seq = 0;
        meta.tcp_flags = 0;
        transition accept;
    }
}

#endif
