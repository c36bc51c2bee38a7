// SPDX-License-Identifier: Apache-2.0
#ifndef NASHBED_BMV2_PARSER_P4
#define NASHBED_BMV2_PARSER_P4

// Makes a postcard's frame FRAME_BYTES_MIN long.
header padding_h {
    bit<48> zeros;
}

struct headers_t {
    ethernet_h ethernet;
    postcard_h postcard;
    padding_h  padding;
    ipv4_h     ipv4;
    tcp_h      tcp;
    udp_h      udp;
}

struct metadata_t {
    // The flow table's key.
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<16> src_port;
    bit<16> dst_port;
    bit<8>  protocol;
    // ingress
    bit<16> l4_minimum_bytes;  // 0: no layer-4 header of ours
    bit<16> l4_header_bytes;
    bit<16> headers_bytes;
    bit<32> frame_bytes;       // as IP's total length has it
    bit<32> unshaped;          // UNSHAPED_*
    bit<1>  fits;
    // Ingress to egress, which v1model carries by itself, and on to the clone
    // that becomes the postcard.
    @field_list(MIRROR_FIELDS) bit<8>    kind;
    @field_list(MIRROR_FIELDS) lane_t    lane;
    @field_list(MIRROR_FIELDS) flow_id_t flow;
    @field_list(MIRROR_FIELDS) bytes_t   packet_bytes;
    @field_list(MIRROR_FIELDS) bytes_t   queue_bytes;
    @field_list(MIRROR_FIELDS) time_ns_t enqueue_ns;
    @field_list(MIRROR_FIELDS) time_ns_t dequeue_ns;
    @field_list(MIRROR_FIELDS) bit<32>   tcp_seq;
    @field_list(MIRROR_FIELDS) bit<16>   payload_bytes;
    @field_list(MIRROR_FIELDS) bit<8>    tcp_flags;
    // both
    bit<32> lane_index;
}

// A header that the frame is too short for is not extracted; simple_switch goes
// on to ingress with what there is, and ingress compares the lengths.
parser BottleneckParser(packet_in pkt,
                        out headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    state start {
        meta.l4_minimum_bytes = 0;
        meta.l4_header_bytes = 0;
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
        meta.l4_minimum_bytes = (bit<16>)TCP_BYTES;
        pkt.extract(hdr.tcp);
        meta.l4_header_bytes = (bit<16>)(hdr.tcp.data_offset_reserved & 0xf0);
        meta.l4_header_bytes = meta.l4_header_bytes >> 2;
        meta.src_port = hdr.tcp.src_port;
        meta.dst_port = hdr.tcp.dst_port;
        meta.tcp_seq = hdr.tcp.seq;
        meta.tcp_flags = hdr.tcp.flags;
        transition accept;
    }

    state parse_udp {
        meta.l4_minimum_bytes = (bit<16>)UDP_BYTES;
        pkt.extract(hdr.udp);
        meta.l4_header_bytes = (bit<16>)UDP_BYTES;
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        meta.tcp_seq = 0;
        meta.tcp_flags = 0;
        transition accept;
    }
}

#endif
