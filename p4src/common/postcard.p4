// SPDX-License-Identifier: Apache-2.0
// The telemetry record, 40 bytes, one per packet that leaves the queue or is
// dropped at it; 8 more follow where a lane has several queues. Held together with the C struct (hosts/dpdk/core/postcard.h)
// and the Python reader (controlplane/contract/records.py) by golden bytes.
#ifndef NASHBED_COMMON_POSTCARD_P4
#define NASHBED_COMMON_POSTCARD_P4

header postcard_h {
    bit<8>    version;        // POSTCARD_VERSION_QUEUES: queue_postcard_h follows
    bit<8>    kind;           // POSTCARD_DEPARTED or POSTCARD_DROPPED
    lane_t    lane;
    flow_id_t flow;
    bytes_t   packet_bytes;
    bytes_t   queue_bytes;    // in the queue at enqueue, without this packet
    time_ns_t enqueue_ns;     // arrival at the traffic manager
    time_ns_t dequeue_ns;     // end of serialisation, or when it was dropped
    bit<32>   tcp_seq;        // 0 for UDP
    bit<32>   lane_seq;       // counts the lane's postcards: a gap is a lost one
    bit<16>   payload_bytes;  // layer-4 payload
    bit<8>    tcp_flags;      // 0 for UDP
    bit<8>    marks;          // ECN, and why it was dropped; 0 where no queue marks
}

header queue_postcard_h {
    bit<8>    queue;            // the packet's own
    bit<24>   reserved;
    bytes_t   own_queue_bytes;  // in that queue at enqueue, without this packet
}

#endif
