// SPDX-License-Identifier: Apache-2.0
// Second pass: what left the queue or was dropped at it is counted per flow,
// its delay goes into the lane's histogram, and its postcard is written. CE is
// set in a packet that the queue marked.
#ifndef NASHBED_DPDK_EGRESS_P4
#define NASHBED_DPDK_EGRESS_P4

control BottleneckEgress(inout headers_t hdr, inout metadata_t meta) {
    Counter<bit<64>, bit<32>>(FLOW_CAPACITY, PNA_CounterType_t.PACKETS_AND_BYTES) departed;
    Counter<bit<64>, bit<32>>(FLOW_CAPACITY, PNA_CounterType_t.PACKETS_AND_BYTES) dropped;
    Counter<bit<64>, bit<32>>(FLOW_CAPACITY, PNA_CounterType_t.PACKETS_AND_BYTES) marked;
    Counter<bit<64>, bit<64>>(HISTOGRAM_CAPACITY, PNA_CounterType_t.PACKETS) delay_histogram;
    Register<bit<64>, bit<32>>(FLOW_CAPACITY) peak_queue_bytes;
    Register<bit<32>, bit<32>>(LANE_CAPACITY) lane_postcards;

    action write_postcard() {
        hdr.postcard.setValid();
        hdr.postcard.version = POSTCARD_VERSION;
        hdr.postcard.lane = hdr.bridge.lane;
        hdr.postcard.flow = hdr.bridge.flow;
        hdr.postcard.packet_bytes = hdr.intrinsic.packet_bytes;
        hdr.postcard.queue_bytes = hdr.intrinsic.queue_bytes;
        hdr.postcard.enqueue_ns = hdr.intrinsic.enqueue_ns;
        hdr.postcard.dequeue_ns = hdr.intrinsic.dequeue_ns;
        hdr.postcard.tcp_seq = hdr.bridge.tcp_seq;
        hdr.postcard.lane_seq = meta.lane_seq;
        hdr.postcard.payload_bytes = hdr.bridge.payload_bytes;
        hdr.postcard.tcp_flags = hdr.bridge.tcp_flags;
        hdr.postcard.marks = hdr.intrinsic.marks;
    }

    // Of a lane with several queues, behind the postcard.
    action write_queue_postcard() {
        hdr.postcard.version = POSTCARD_VERSION_QUEUES;
        hdr.queue_postcard.setValid();
        hdr.queue_postcard.queue = hdr.intrinsic.queues - 1;
        hdr.queue_postcard.reserved = 0;
        hdr.queue_postcard.own_queue_bytes = hdr.intrinsic.own_queue_bytes;
    }

    action depart() {
        hdr.postcard.kind = POSTCARD_DEPARTED;
        mirror_packet(MIRROR_SLOT, MIRROR_SESSION);
        send_to_port((PortId_t)PORT_EGRESS);
    }

    action drop() {
        hdr.postcard.kind = POSTCARD_DROPPED;
        send_to_port((PortId_t)PORT_TELEMETRY);
    }

    // Both bits of the ECN field, and the header's checksum by what that added
    // (RFC 1624, equation 3). It was ECN-capable, so that is 1 or 2.
    action set_ce() {
        meta.added = (bit<32>)hdr.ipv4.tos;
        meta.added = meta.added & (bit<32>)ECN_MASK;
        meta.added = (bit<32>)ECN_CE - meta.added;
        hdr.ipv4.tos = hdr.ipv4.tos | ECN_CE;
        meta.sum = (bit<32>)hdr.ipv4.checksum;
        meta.sum = meta.sum ^ 0xffff;
        meta.sum = meta.sum + meta.added;
        meta.carry = meta.sum >> 16;
        meta.sum = meta.sum + meta.carry;
        meta.sum = meta.sum ^ 0xffff;
        hdr.ipv4.checksum = (bit<16>)meta.sum;
    }

    apply {
        meta.lane_index = (bit<32>)hdr.bridge.lane;
        meta.lane_seq = lane_postcards.read(meta.lane_index);
        lane_postcards.write(meta.lane_index, meta.lane_seq + 1);
        write_postcard();
        if (hdr.intrinsic.queues != 0) {
            write_queue_postcard();
        }

        // Until a packet of it leaves or is dropped a flow's share of the
        // queue only grows, so its peak is seen just before that.
        meta.flow_bytes = in_queue_bytes.read(hdr.bridge.flow);
        if (hdr.intrinsic.pass == PASS_DROPPED) {
            dropped.count(hdr.bridge.flow, hdr.intrinsic.packet_bytes);
            // Out of the queue, or at its end: then it was never in it.
            if (hdr.intrinsic.dequeue_ns != hdr.intrinsic.enqueue_ns) {
                meta.peak_bytes = peak_queue_bytes.read(hdr.bridge.flow);
                if (meta.flow_bytes > meta.peak_bytes) {
                    peak_queue_bytes.write(hdr.bridge.flow, meta.flow_bytes);
                }
            }
            drop();
        } else {
            departed.count(hdr.bridge.flow, hdr.intrinsic.packet_bytes);
            meta.peak_bytes = peak_queue_bytes.read(hdr.bridge.flow);
            if (meta.flow_bytes > meta.peak_bytes) {
                peak_queue_bytes.write(hdr.bridge.flow, meta.flow_bytes);
            }
            // Wide from the beginning: to narrow a field costs seven instructions.
            meta.bin = (bit<64>)hdr.intrinsic.dequeue_ns;
            meta.enqueue_ns = (bit<64>)hdr.intrinsic.enqueue_ns;
            meta.bin = meta.bin - meta.enqueue_ns;
            meta.bin = meta.bin >> HISTOGRAM_SHIFT;
            if (meta.bin > (bit<64>)HISTOGRAM_LAST_BIN) {
                meta.bin = (bit<64>)HISTOGRAM_LAST_BIN;
            }
            meta.first_bin = (bit<64>)hdr.bridge.lane;
            meta.first_bin = meta.first_bin << HISTOGRAM_BINS_LOG2;
            meta.bin = meta.bin + meta.first_bin;
            delay_histogram.count(meta.bin);
            depart();
            if (hdr.intrinsic.pass == PASS_MARKED) {
                marked.count(hdr.bridge.flow, hdr.intrinsic.packet_bytes);
                set_ce();
            }
        }
        meta.flow_bytes = meta.flow_bytes - (bit<64>)hdr.intrinsic.packet_bytes;
        in_queue_bytes.write(hdr.bridge.flow, meta.flow_bytes);
        hdr.intrinsic.setInvalid();
        hdr.bridge.setInvalid();
    }
}

#endif
