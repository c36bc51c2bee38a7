// SPDX-License-Identifier: Apache-2.0
// What leaves the shaped queue is taken out of it and counted per flow, its
// delay goes into the lane's histogram, and its clone becomes its postcard. At
// the telemetry port, clones and dropped packets are turned into postcards.
#ifndef NASHBED_BMV2_EGRESS_P4
#define NASHBED_BMV2_EGRESS_P4

control BottleneckEgress(inout headers_t hdr,
                         inout metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    register<bit<64>, bit<32>>(FLOW_CAPACITY) departed_packets;
    register<bit<64>, bit<32>>(FLOW_CAPACITY) departed_bytes;
    register<bit<64>, bit<32>>(FLOW_CAPACITY) peak_queue_bytes;
    register<bit<64>, bit<32>>(HISTOGRAM_CAPACITY) delay_histogram;
    register<bit<32>, bit<32>>(LANE_CAPACITY) lane_postcards;

    // simple_switch lets a packet go when its time on the link begins. The one
    // before it is off the link now, whatever its slot said, and this one is
    // on it for a slot: the end of that is its departure.
    action dequeue() {
        time_ns_t now;
        time_ns_t last;
        time_ns_t slot;
        bit<64> link_bytes;
        bit<64> occupied;
        now = standard_metadata.egress_global_timestamp * NS_PER_US;
        last_event_ns.read(last, meta.lane_index);
        if (last - now < CLOCK_LAG_NS) {
            now = last + 1;
        }
        last_event_ns.write(meta.lane_index, now);

        queue_bytes.read(occupied, meta.lane_index);
        on_link_bytes.read(link_bytes, meta.lane_index);
        queue_bytes.write(meta.lane_index, occupied - link_bytes);
        on_link_bytes.write(meta.lane_index, (bit<64>)meta.packet_bytes);
        slot_ns.read(slot, meta.lane_index);
        meta.dequeue_ns = now + slot;
        on_link_until_ns.write(meta.lane_index, meta.dequeue_ns);
    }

    // Between two of a flow's departures its share of the queue only grows, so
    // its peak is seen just before one.
    action update_flow_queue() {
        bit<64> flow_bytes;
        bit<64> peak_bytes;
        in_queue_bytes.read(flow_bytes, meta.flow);
        peak_queue_bytes.read(peak_bytes, meta.flow);
        if (flow_bytes > peak_bytes) {
            peak_queue_bytes.write(meta.flow, flow_bytes);
        }
        in_queue_bytes.write(meta.flow, flow_bytes - (bit<64>)meta.packet_bytes);
    }

    action count_departure() {
        bit<64> packets;
        bit<64> total;
        departed_packets.read(packets, meta.flow);
        departed_packets.write(meta.flow, packets + 1);
        departed_bytes.read(total, meta.flow);
        departed_bytes.write(meta.flow, total + (bit<64>)meta.packet_bytes);
    }

    action count_delay() {
        bit<64> packets;
        bit<32> bin;
        time_ns_t delay;
        delay = (meta.dequeue_ns - meta.enqueue_ns) >> HISTOGRAM_SHIFT;
        bin = HISTOGRAM_LAST_BIN;
        if (delay < (time_ns_t)HISTOGRAM_LAST_BIN) {
            bin = (bit<32>)delay;
        }
        bin = bin + (meta.lane_index << HISTOGRAM_BINS_LOG2);
        delay_histogram.read(packets, bin);
        delay_histogram.write(bin, packets + 1);
    }

    action write_postcard() {
        bit<32> lane_seq;
        bit<32> lane_index;
        lane_index = (bit<32>)meta.lane;
        // One thread serves the port, so numbers leave in their order.
        lane_postcards.read(lane_seq, lane_index);
        lane_postcards.write(lane_index, lane_seq + 1);
        hdr.postcard.setValid();
        hdr.postcard.version = POSTCARD_VERSION;
        hdr.postcard.kind = meta.kind;
        hdr.postcard.lane = meta.lane;
        hdr.postcard.flow = meta.flow;
        hdr.postcard.packet_bytes = meta.packet_bytes;
        hdr.postcard.queue_bytes = meta.queue_bytes;
        hdr.postcard.enqueue_ns = meta.enqueue_ns;
        hdr.postcard.dequeue_ns = meta.dequeue_ns;
        hdr.postcard.tcp_seq = meta.tcp_seq;
        hdr.postcard.lane_seq = lane_seq;
        hdr.postcard.payload_bytes = meta.payload_bytes;
        hdr.postcard.tcp_flags = meta.tcp_flags;
        hdr.postcard.marks = 0;
        hdr.padding.setValid();
        hdr.padding.zeros = 0;
        hdr.ethernet.ether_type = ETHERTYPE_POSTCARD;
        hdr.ipv4.setInvalid();
        hdr.tcp.setInvalid();
        hdr.udp.setInvalid();
        truncate(FRAME_BYTES_MIN);
    }

    apply {
        if (standard_metadata.egress_port == PORT_TELEMETRY) {
            write_postcard();
        } else if (meta.unshaped == UNSHAPED_NOT) {
            dequeue();
            update_flow_queue();
            count_departure();
            count_delay();
            clone_preserving_field_list(CloneType.E2E, MIRROR_SESSION, MIRROR_FIELDS);
        }
    }
}

#endif
