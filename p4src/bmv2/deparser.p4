// SPDX-License-Identifier: Apache-2.0
#ifndef NASHBED_BMV2_DEPARSER_P4
#define NASHBED_BMV2_DEPARSER_P4

// A packet: its headers as they came. A postcard: Ethernet, postcard, padding.
control BottleneckDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.postcard);
        pkt.emit(hdr.padding);
        pkt.emit(hdr.ipv4);
        pkt.emit(hdr.tcp);
        pkt.emit(hdr.udp);
    }
}

#endif
