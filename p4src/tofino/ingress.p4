// SPDX-License-Identifier: Apache-2.0
// Classify, count the arrival, send to the queue; what is not ours goes straight
// to the other wire, unshaped, and is counted by its reason.
#ifndef NASHBED_TOFINO_INGRESS_P4
#define NASHBED_TOFINO_INGRESS_P4

// Why a packet goes unshaped: the indices of its counter.
const bit<8> UNSHAPED_NOT = 0;
const bit<8> UNSHAPED_REVERSE = 1;    // came from the receivers' side: ACKs
const bit<8> UNSHAPED_UNKNOWN = 2;    // no flow of ours
const bit<8> UNSHAPED_MALFORMED = 3;  // truncated, or lengths that contradict each other
const bit<8> UNSHAPED_FOREIGN = 4;    // came in by a port of neither wire: dropped
#define UNSHAPED_REASONS 8

const bit<16> LEAST_FRAME_BYTES = 60;  // a shorter one is padded

control BottleneckIngress(inout headers_t hdr,
                          inout ingress_metadata_t meta,
                          in ingress_intrinsic_metadata_t intrinsic,
                          in ingress_intrinsic_metadata_from_parser_t from_parser,
                          inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                          inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Counter<bit<32>, bit<8>>(UNSHAPED_REASONS, CounterType_t.PACKETS_AND_BYTES) unshaped;
    Counter<bit<32>, flow_index_t>(FLOW_CAPACITY, CounterType_t.PACKETS) arrived_packets;
    Register<byte_count_t, flow_index_t>(FLOW_CAPACITY) arrived_bytes;
    Register<clock_t, bit<1>>(1) clock;

    RegisterAction<byte_count_t, flow_index_t, bit<32>>(arrived_bytes) count_arrival = {
        void apply(inout byte_count_t count) {
            if (count.low >= (bit<32>)meta.room) {
                count.low = count.low - (bit<32>)meta.room;
                count.high = count.high + 1;
            } else {
                count.low = count.low + (bit<32>)meta.frame_bytes;
            }
        }
    };

    RegisterAction<clock_t, bit<1>, bit<32>>(clock) note_time = {
        void apply(inout clock_t now) {
            now.high = meta.clock_high;
            now.low = meta.clock_low;
        }
    };

    // Egress is for what stood in a queue of ours.
    action pass_unshaped(bit<8> reason) {
        meta.unshaped = reason;
        to_tm.bypass_egress = 1;
    }

    action from_senders(PortId_t receivers_port) {
        meta.from_senders = 1;
        to_tm.ucast_egress_port = receivers_port;
    }

    action pass_reverse(PortId_t senders_port) {
        to_tm.ucast_egress_port = senders_port;
        pass_unshaped(UNSHAPED_REVERSE);
    }

    // From the packet generator: the control plane reads the clock through it.
    action tick() {
        note_time.execute(0);
        to_deparser.drop_ctl = 1;
    }

    action pass_foreign() {
        meta.unshaped = UNSHAPED_FOREIGN;
        to_deparser.drop_ctl = 1;
    }

    table wires {
        key = {
            intrinsic.ingress_port : exact @name("port");
        }
        actions = {
            from_senders;
            pass_reverse;
            tick;
            pass_foreign;
        }
        const default_action = pass_foreign();
        size = 16;
    }

    action measure() {
        meta.ip_payload_bytes = hdr.ipv4.total_bytes - (bit<16>)IPV4_BYTES;
        meta.frame_bytes = hdr.ipv4.total_bytes + (bit<16>)ETHERNET_BYTES;
    }

    action to_queue(lane_t lane, flow_id_t flow, QueueId_t queue) {
        meta.flow = (flow_index_t)flow;
        hdr.stamp.setValid();
        hdr.stamp.pass = PASS_SHAPED;
        hdr.stamp.reserved = 0;
        hdr.stamp.frame_bytes = meta.frame_bytes;
        hdr.stamp.ingress_ns = from_parser.global_tstamp;
        hdr.bridge.setValid();
        hdr.bridge.lane = lane;
        hdr.bridge.payload_bytes = meta.payload_bytes;
        hdr.bridge.flow = flow;
        hdr.bridge.tcp_seq = meta.tcp_seq;
        hdr.bridge.tcp_flags = meta.tcp_flags;
        hdr.bridge.queue = 0;
        hdr.bridge.reserved = 0;
        hdr.bridge.tos = 0;
        to_tm.qid = queue;
        to_tm.deflect_on_drop = 1;
        to_tm.disable_ucast_cutthru = 1;
    }

    action pass_unknown() {
        pass_unshaped(UNSHAPED_UNKNOWN);
    }

    action pass_malformed() {
        pass_unshaped(UNSHAPED_MALFORMED);
    }

    action is_sound() {}

    action pad() {
        meta.frame_bytes = max(meta.frame_bytes, LEAST_FRAME_BYTES);
    }

    // What an if can compare at once is less than this; a ternary table does it. A
    // parser error takes the default, a later fragment has no layer-4 header to
    // classify by, and a payload below zero has its highest bit set.
    table soundness {
        key = {
            from_parser.parser_err       : ternary @name("parser_err");
            hdr.tcp.isValid()            : ternary @name("is_tcp");
            hdr.udp.isValid()            : ternary @name("is_udp");
            hdr.ipv4.flags_fragment      : ternary @name("flags_fragment");
            hdr.tcp.data_offset_reserved : ternary @name("data_offset");
            meta.payload_bytes           : ternary @name("payload_bytes");
        }
        actions = {
            is_sound;
            pass_unknown;
            pass_malformed;
        }
        const default_action = pass_malformed();
        const entries = {
            (0, true, _, 0 &&& FRAGMENT_OFFSET_MASK, 0x00 &&& 0xc0, _): pass_malformed();
            (0, true, _, 0 &&& FRAGMENT_OFFSET_MASK, 0x40 &&& 0xf0, _): pass_malformed();
            (0, true, _, 0 &&& FRAGMENT_OFFSET_MASK, _, 0x8000 &&& 0x8000): pass_malformed();
            (0, true, _, 0 &&& FRAGMENT_OFFSET_MASK, _, _): is_sound();
            (0, _, true, 0 &&& FRAGMENT_OFFSET_MASK, _, 0x8000 &&& 0x8000): pass_malformed();
            (0, _, true, 0 &&& FRAGMENT_OFFSET_MASK, _, _): is_sound();
            (0, _, _, _, _, _): pass_unknown();
        }
        size = 8;
    }

    table flow_table {
        key = {
            hdr.ipv4.src_addr : exact @name("src_addr");
            hdr.ipv4.dst_addr : exact @name("dst_addr");
            meta.src_port     : exact @name("src_port");
            meta.dst_port     : exact @name("dst_port");
            hdr.ipv4.protocol : exact @name("protocol");
        }
        actions = {
            to_queue;
            pass_unknown;
        }
        const default_action = pass_unknown();
        size = FLOW_CAPACITY;
    }

    apply {
        meta.clock_high = (bit<32>)from_parser.global_tstamp[47:32];
        meta.clock_low = from_parser.global_tstamp[31:0];
        wires.apply();
        measure();
        if (hdr.tcp.isValid()) {
            meta.l4_header_bytes[5:2] = hdr.tcp.data_offset_reserved[7:4];
        } else {
            meta.l4_header_bytes = (bit<16>)UDP_BYTES;
        }
        meta.payload_bytes = meta.ip_payload_bytes - meta.l4_header_bytes;
        pad();
        meta.room = BYTE_COUNT_WRAP - meta.frame_bytes;

        // Ingress is not told the frame's length: a header that is not whole
        // is an error of the parser, an IP length beyond the frame is not seen.
        if (meta.from_senders == 1) {
            switch (soundness.apply().action_run) {
                is_sound: {
                    if (flow_table.apply().hit) {
                        arrived_packets.count(meta.flow);
                        count_arrival.execute(meta.flow);
                    }
                }
            }
        }
        if (meta.unshaped != UNSHAPED_NOT) {
            unshaped.count(meta.unshaped);
        }
    }
}

#endif
