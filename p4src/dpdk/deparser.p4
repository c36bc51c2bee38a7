// SPDX-License-Identifier: Apache-2.0
#ifndef NASHBED_DPDK_DEPARSER_P4
#define NASHBED_DPDK_DEPARSER_P4

// First pass to the queue: bridge and frame. Unshaped: the frame alone.
// Second pass: postcard, then the frame, of which at most the headers that CE
// is set in were extracted.
control BottleneckDeparser(packet_out pkt,
                           in headers_t hdr,
                           in metadata_t meta,
                           in pna_main_output_metadata_t ostd) {
    apply {
        pkt.emit(hdr.postcard);
        pkt.emit(hdr.queue_postcard);
        pkt.emit(hdr.bridge);
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.ipv4);
        pkt.emit(hdr.tcp);
        pkt.emit(hdr.udp);
    }
}

#endif
