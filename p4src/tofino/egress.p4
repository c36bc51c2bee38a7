// SPDX-License-Identifier: Apache-2.0
// What left the queue or was dropped at it is counted per flow, its delay goes
// into the lane's histogram, and its postcard is mirrored. The mirrored packet
// comes through egress once more and is written as the collector reads it.
#ifndef NASHBED_TOFINO_EGRESS_P4
#define NASHBED_TOFINO_EGRESS_P4

control BottleneckEgress(inout headers_t hdr,
                         inout egress_metadata_t meta,
                         in egress_intrinsic_metadata_t intrinsic,
                         in egress_intrinsic_metadata_from_parser_t from_parser,
                         inout egress_intrinsic_metadata_for_deparser_t to_deparser,
                         inout egress_intrinsic_metadata_for_output_port_t to_port) {
    Counter<bit<32>, flow_index_t>(FLOW_CAPACITY, CounterType_t.PACKETS) departed_packets;
    Counter<bit<32>, flow_index_t>(FLOW_CAPACITY, CounterType_t.PACKETS) dropped_packets;
    Counter<bit<32>, histogram_index_t>(HISTOGRAM_CAPACITY, CounterType_t.PACKETS) delay_histogram;
    Register<byte_count_t, flow_index_t>(FLOW_CAPACITY) departed_bytes;
    Register<byte_count_t, flow_index_t>(FLOW_CAPACITY) dropped_bytes;
    Register<bit<32>, lane_index_t>(LANE_CAPACITY) lane_postcards;
    CellsToBytes() cells_to_bytes;
    MirrorWhatLeaves() mirror_what_leaves;

    RegisterAction<byte_count_t, flow_index_t, bit<32>>(departed_bytes) count_departure = {
        void apply(inout byte_count_t count) {
            if (count.low >= (bit<32>)meta.room) {
                count.low = count.low - (bit<32>)meta.room;
                count.high = count.high + 1;
            } else {
                count.low = count.low + (bit<32>)meta.frame_bytes;
            }
        }
    };

    RegisterAction<byte_count_t, flow_index_t, bit<32>>(dropped_bytes) count_drop = {
        void apply(inout byte_count_t count) {
            if (count.low >= (bit<32>)meta.room) {
                count.low = count.low - (bit<32>)meta.room;
                count.high = count.high + 1;
            } else {
                count.low = count.low + (bit<32>)meta.frame_bytes;
            }
        }
    };

    RegisterAction<bit<32>, lane_index_t, bit<32>>(lane_postcards) next_postcard = {
        void apply(inout bit<32> number, out bit<32> before) {
            before = number;
            number = number + 1;
        }
    };

    // A deflected packet carries the depth of the queue it was deflected to. The
    // one it was dropped at was full: its limit is what can be told.
    action set_limit(bit<32> limit_cells) {
        meta.queue_cells = limit_cells;
    }

    table limits {
        key = {
            hdr.bridge.lane : exact @name("lane");
        }
        actions = {
            set_limit;
            @defaultonly NoAction;
        }
        const default_action = NoAction;
        size = LANE_CAPACITY;
    }

    action copy_stamp() {
        meta.flow = (flow_index_t)hdr.bridge.flow;
        meta.lane = hdr.bridge.lane[3:0];
        meta.frame_bytes = hdr.stamp.frame_bytes;
        meta.room = BYTE_COUNT_WRAP - hdr.stamp.frame_bytes;
    }

    action choose_session() {
        meta.mirror_session = MIRROR_SESSION;
    }

    // An action of its own: one that computes an index may not carry constants.
    action number_postcard() {
        meta.lane_seq = next_postcard.execute(meta.lane);
    }

    action depart() {
        meta.pass = PASS_DEPARTED;
        meta.queue_cells = (bit<32>)intrinsic.enq_qdepth;
        meta.dequeue_ns = from_parser.global_tstamp;
        meta.now_ns = from_parser.global_tstamp[31:0];
        meta.arrived_ns = hdr.stamp.ingress_ns[31:0];
    }

    action drop() {
        meta.pass = PASS_DROPPED;
        meta.dequeue_ns = hdr.stamp.ingress_ns;
        to_deparser.drop_ctl = 1;  // the packet, not its mirror
    }

    action subtract_times() {
        meta.stay_ns = meta.now_ns - meta.arrived_ns;
    }

    action shift_stay() {
        meta.bin = meta.stay_ns >> HISTOGRAM_SHIFT;
    }

    // Where a lane's histogram begins, by a table of constants: a lane comes in 16
    // bits, and the chip does not move it into the 32 of a bin.
    action add_first_bin(bit<32> first_bin) {
        meta.bin = meta.bin | first_bin;
    }

    table histograms {
        key = {
            hdr.bridge.lane : exact @name("lane");
        }
        actions = {
            add_first_bin;
        }
        const entries = {
            0: add_first_bin(0);
            1: add_first_bin(1 << HISTOGRAM_BINS_LOG2);
            2: add_first_bin(2 << HISTOGRAM_BINS_LOG2);
            3: add_first_bin(3 << HISTOGRAM_BINS_LOG2);
            4: add_first_bin(4 << HISTOGRAM_BINS_LOG2);
            5: add_first_bin(5 << HISTOGRAM_BINS_LOG2);
            6: add_first_bin(6 << HISTOGRAM_BINS_LOG2);
            7: add_first_bin(7 << HISTOGRAM_BINS_LOG2);
            8: add_first_bin(8 << HISTOGRAM_BINS_LOG2);
            9: add_first_bin(9 << HISTOGRAM_BINS_LOG2);
            10: add_first_bin(10 << HISTOGRAM_BINS_LOG2);
            11: add_first_bin(11 << HISTOGRAM_BINS_LOG2);
            12: add_first_bin(12 << HISTOGRAM_BINS_LOG2);
            13: add_first_bin(13 << HISTOGRAM_BINS_LOG2);
            14: add_first_bin(14 << HISTOGRAM_BINS_LOG2);
            15: add_first_bin(15 << HISTOGRAM_BINS_LOG2);
        }
        size = LANE_CAPACITY;
    }

    action write_postcard() {
        hdr.report_ethernet.setValid();
        hdr.report_ethernet.dst_addr = REPORT_DST_ADDR;
        hdr.report_ethernet.src_addr = REPORT_SRC_ADDR;
        hdr.report_ethernet.ether_type = ETHERTYPE_POSTCARD;
        hdr.postcard.setValid();
        hdr.postcard.version = POSTCARD_VERSION;
        hdr.postcard.lane = (lane_t)hdr.mirror.lane;
        hdr.postcard.flow = (flow_id_t)hdr.mirror.flow;
        hdr.postcard.packet_bytes = (bytes_t)hdr.mirror.frame_bytes;
        hdr.postcard.enqueue_ns = hdr.mirror.enqueue_ns;
        hdr.postcard.dequeue_ns = hdr.mirror.dequeue_ns;
        hdr.postcard.tcp_seq = hdr.mirror.tcp_seq;
        hdr.postcard.lane_seq = hdr.mirror.lane_seq;
        hdr.postcard.payload_bytes = hdr.mirror.payload_bytes;
        hdr.postcard.tcp_flags = hdr.mirror.tcp_flags;
        hdr.postcard.marks = 0;
    }

    apply {
        if (hdr.stamp.isValid()) {
            copy_stamp();
            choose_session();
            number_postcard();
            if (intrinsic.deflection_flag == 0) {
                depart();
                departed_packets.count(meta.flow);
                count_departure.execute(meta.flow);
                // The low words suffice: 2^32 ns is where the histogram ends.
                subtract_times();
                shift_stay();
                histograms.apply();
                delay_histogram.count((histogram_index_t)meta.bin);
            } else {
                drop();
                limits.apply();
                dropped_packets.count(meta.flow);
                count_drop.execute(meta.flow);
            }
            mirror_what_leaves.apply(to_deparser);
        } else if (hdr.mirror.isValid()) {
            write_postcard();
            if (hdr.mirror.pass == PASS_DEPARTED) {
                hdr.postcard.kind = POSTCARD_DEPARTED;
            } else {
                hdr.postcard.kind = POSTCARD_DROPPED;
            }
            cells_to_bytes.apply(hdr.mirror.queue_cells, hdr.postcard.queue_bytes);
        }
    }
}

#endif
