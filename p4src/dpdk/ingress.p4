// SPDX-License-Identifier: Apache-2.0
// First pass: classify, count the arrival, send to the queue; what is not ours
// goes straight to the other wire, unshaped, and is counted by its reason.
#ifndef NASHBED_DPDK_INGRESS_P4
#define NASHBED_DPDK_INGRESS_P4

control BottleneckIngress(inout headers_t hdr, inout metadata_t meta) {
    Counter<bit<64>, bit<32>>(FLOW_CAPACITY, PNA_CounterType_t.PACKETS_AND_BYTES) arrived;
    Counter<bit<64>, bit<32>>(UNSHAPED_REASONS, PNA_CounterType_t.PACKETS_AND_BYTES) unshaped;

    action to_queue(lane_t lane, flow_id_t flow, bit<8> queue) {
        hdr.bridge.setValid();
        hdr.bridge.lane = lane;
        hdr.bridge.payload_bytes = meta.payload_bytes;
        hdr.bridge.flow = flow;
        hdr.bridge.tcp_seq = meta.tcp_seq;
        hdr.bridge.tcp_flags = meta.tcp_flags;
        hdr.bridge.queue = queue;
        hdr.bridge.tos = hdr.ipv4.tos;
        send_to_port((PortId_t)PORT_QUEUE);
    }

    action pass_unknown() {
        meta.unshaped = UNSHAPED_UNKNOWN;
        send_to_port((PortId_t)PORT_RECEIVERS);
    }

    action pass_malformed() {
        meta.unshaped = UNSHAPED_MALFORMED;
        send_to_port((PortId_t)PORT_RECEIVERS);
    }

    action pass_reverse() {
        meta.unshaped = UNSHAPED_REVERSE;
        send_to_port((PortId_t)PORT_SENDERS);
    }

    table flow_table {
        key = {
            meta.src_addr : exact @name("src_addr");
            meta.dst_addr : exact @name("dst_addr");
            meta.src_port : exact @name("src_port");
            meta.dst_port : exact @name("dst_port");
            meta.protocol : exact @name("protocol");
        }
        actions = {
            to_queue;
            pass_unknown;
        }
        const default_action = pass_unknown();
        size = FLOW_CAPACITY;
    }

    action set_queue(bit<8> queue) {
        hdr.bridge.queue = queue;
    }

    action first_queue() {
        hdr.bridge.queue = 0;
    }

    // The control plane has an entry for each DSCP of a lane that is asked.
    table dscp_table {
        key = {
            meta.lane : exact @name("lane");
            meta.dscp : exact @name("dscp");
        }
        actions = {
            set_queue;
            first_queue;
        }
        const default_action = first_queue();
        size = DSCP_CAPACITY;
    }

    // The pipeline does not check lengths when it extracts: behind the end of a
    // short frame it finds what an earlier packet left in the buffer. So each
    // header is believed only where the frame's length shows that it is there.
    apply {
        meta.unshaped = UNSHAPED_NOT;
        if (hdr.intrinsic.ingress_port != (bit<8>)PORT_SENDERS) {
            pass_reverse();
        } else if (hdr.intrinsic.packet_bytes < ETHERNET_BYTES) {
            pass_malformed();
        } else if (hdr.ethernet.ether_type != ETHERTYPE_IPV4) {
            pass_unknown();
        } else if (hdr.intrinsic.packet_bytes < ETHERNET_BYTES + IPV4_BYTES) {
            pass_malformed();
        } else if (meta.l4_minimum_bytes == 0) {
            pass_unknown();
        } else if ((hdr.ipv4.flags_fragment & FRAGMENT_OFFSET_MASK) != 0) {
            // A later fragment has no layer-4 header to classify by.
            pass_unknown();
        } else {
            meta.frame_bytes = (bit<32>)hdr.ipv4.total_bytes;
            meta.frame_bytes = meta.frame_bytes + ETHERNET_BYTES;
            meta.headers_bytes = meta.l4_header_bytes + (bit<16>)IPV4_BYTES;
            if (meta.l4_header_bytes < meta.l4_minimum_bytes) {
                pass_malformed();
            } else if (hdr.ipv4.total_bytes < meta.headers_bytes) {
                pass_malformed();
            } else if (hdr.intrinsic.packet_bytes < meta.frame_bytes) {
                pass_malformed();
            } else {
                meta.payload_bytes = hdr.ipv4.total_bytes - meta.headers_bytes;
                if (flow_table.apply().hit) {
                    arrived.count(hdr.bridge.flow, hdr.intrinsic.packet_bytes);
                    meta.flow_bytes = in_queue_bytes.read(hdr.bridge.flow);
                    meta.flow_bytes = meta.flow_bytes + (bit<64>)hdr.intrinsic.packet_bytes;
                    in_queue_bytes.write(hdr.bridge.flow, meta.flow_bytes);
                    if (hdr.bridge.queue == QUEUE_BY_DSCP) {
                        meta.lane = hdr.bridge.lane;
                        meta.dscp = hdr.bridge.tos >> 2;
                        dscp_table.apply();
                    }
                }
            }
        }
        // Counted here and by a variable: DPDK 22.11 takes an index and an
        // amount that are both constants for those of another register array.
        if (meta.unshaped != UNSHAPED_NOT) {
            unshaped.count(meta.unshaped, hdr.intrinsic.packet_bytes);
        }
        hdr.intrinsic.setInvalid();
    }
}

#endif
