// SPDX-License-Identifier: Apache-2.0
// Classify, count the arrival, and the drop-tail decision: what fits goes to
// the shaped queue, what does not becomes its own postcard. What is not ours
// goes straight to the other wire, unshaped, and is counted by its reason.
#ifndef NASHBED_BMV2_INGRESS_P4
#define NASHBED_BMV2_INGRESS_P4

control BottleneckIngress(inout headers_t hdr,
                          inout metadata_t meta,
                          inout standard_metadata_t standard_metadata) {
    register<bit<64>, bit<32>>(FLOW_CAPACITY) arrived_packets;
    register<bit<64>, bit<32>>(FLOW_CAPACITY) arrived_bytes;
    register<bit<64>, bit<32>>(FLOW_CAPACITY) dropped_packets;
    register<bit<64>, bit<32>>(FLOW_CAPACITY) dropped_bytes;
    register<bit<64>, bit<32>>(UNSHAPED_REASONS) unshaped_packets;
    register<bit<64>, bit<32>>(UNSHAPED_REASONS) unshaped_bytes;

    action to_queue(lane_t lane, flow_id_t flow) {
        meta.lane = lane;
        meta.lane_index = (bit<32>)lane;
        meta.flow = flow;
    }

    action pass_unshaped(bit<32> reason, port_t port) {
        meta.unshaped = reason;
        standard_metadata.priority = QUEUE_UNSHAPED;
        standard_metadata.egress_spec = port;
    }

    action pass_unknown() {
        pass_unshaped(UNSHAPED_UNKNOWN, PORT_RECEIVERS);
    }

    action pass_malformed() {
        pass_unshaped(UNSHAPED_MALFORMED, PORT_RECEIVERS);
    }

    action pass_reverse() {
        pass_unshaped(UNSHAPED_REVERSE, PORT_SENDERS);
    }

    action count_unshaped() {
        bit<64> packets;
        bit<64> total;
        unshaped_packets.read(packets, meta.unshaped);
        unshaped_packets.write(meta.unshaped, packets + 1);
        unshaped_bytes.read(total, meta.unshaped);
        unshaped_bytes.write(meta.unshaped, total + (bit<64>)meta.packet_bytes);
    }

    action count_arrival() {
        bit<64> packets;
        bit<64> total;
        arrived_packets.read(packets, meta.flow);
        arrived_packets.write(meta.flow, packets + 1);
        arrived_bytes.read(total, meta.flow);
        arrived_bytes.write(meta.flow, total + (bit<64>)meta.packet_bytes);
    }

    // The packet meets the queue. Its time is when simple_switch received it;
    // where a departure that was dealt with first is later than that, its time
    // is just after it, so that times tell the very order in which the queue
    // was changed.
    action admit() {
        time_ns_t now;
        time_ns_t last;
        time_ns_t link_until;
        bit<64> link_bytes;
        bit<64> occupied;
        bit<64> limit;
        now = standard_metadata.ingress_global_timestamp * NS_PER_US;
        last_event_ns.read(last, meta.lane_index);
        if (last - now < CLOCK_LAG_NS) {
            now = last + 1;
        }
        last_event_ns.write(meta.lane_index, now);

        queue_bytes.read(occupied, meta.lane_index);
        on_link_bytes.read(link_bytes, meta.lane_index);
        on_link_until_ns.read(link_until, meta.lane_index);
        if (link_until - now - 1 >= LINK_AHEAD_NS) {
            occupied = occupied - link_bytes;
            on_link_bytes.write(meta.lane_index, 0);
        }

        limit_bytes.read(limit, meta.lane_index);
        meta.enqueue_ns = now;
        meta.queue_bytes = (bytes_t)occupied;
        meta.fits = 0;
        if (occupied + (bit<64>)meta.packet_bytes <= limit) {
            meta.fits = 1;
            occupied = occupied + (bit<64>)meta.packet_bytes;
        }
        queue_bytes.write(meta.lane_index, occupied);
    }

    action enqueue() {
        bit<64> flow_bytes;
        in_queue_bytes.read(flow_bytes, meta.flow);
        in_queue_bytes.write(meta.flow, flow_bytes + (bit<64>)meta.packet_bytes);
        meta.kind = POSTCARD_DEPARTED;
        standard_metadata.priority = QUEUE_SHAPED;
        standard_metadata.egress_spec = PORT_RECEIVERS;
    }

    // Sent to the collector itself, not as a clone: a clone would be one more
    // packet that is made only for the other to be thrown away.
    action drop() {
        bit<64> packets;
        bit<64> total;
        dropped_packets.read(packets, meta.flow);
        dropped_packets.write(meta.flow, packets + 1);
        dropped_bytes.read(total, meta.flow);
        dropped_bytes.write(meta.flow, total + (bit<64>)meta.packet_bytes);
        meta.kind = POSTCARD_DROPPED;
        meta.dequeue_ns = meta.enqueue_ns;
        standard_metadata.egress_spec = PORT_TELEMETRY;
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

    apply {
        meta.unshaped = UNSHAPED_NOT;
        meta.packet_bytes = standard_metadata.packet_length;
        if (standard_metadata.ingress_port != PORT_SENDERS) {
            pass_reverse();
        } else if (meta.packet_bytes < ETHERNET_BYTES) {
            pass_malformed();
        } else if (hdr.ethernet.ether_type != ETHERTYPE_IPV4) {
            pass_unknown();
        } else if (meta.packet_bytes < ETHERNET_BYTES + IPV4_BYTES) {
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
            } else if (meta.packet_bytes < meta.frame_bytes) {
                pass_malformed();
            } else {
                meta.payload_bytes = hdr.ipv4.total_bytes - meta.headers_bytes;
                if (flow_table.apply().hit) {
                    count_arrival();
                    admit();
                    if (meta.fits == 1) {
                        enqueue();
                    } else {
                        drop();
                    }
                }
            }
        }
        if (meta.unshaped != UNSHAPED_NOT) {
            count_unshaped();
        }
    }
}

#endif
