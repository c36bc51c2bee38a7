// SPDX-License-Identifier: Apache-2.0
// Packet headers. Every field is a multiple of 8 bits, as the DPDK target
// needs it; what is narrower on the wire is named after both of its parts.
#ifndef NASHBED_COMMON_HEADERS_P4
#define NASHBED_COMMON_HEADERS_P4

header ethernet_h {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<8>  version_ihl;
    bit<8>  tos;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> flags_fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header tcp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> seq;
    bit<32> ack;
    bit<8>  data_offset_reserved;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> total_bytes;
    bit<16> checksum;
}

#endif
