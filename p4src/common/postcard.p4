// SPDX-License-Identifier: Apache-2.0
// The telemetry record, 40 bytes, one per packet that leaves the queue or is
// dropped at it. Held together with the C struct (hosts/dpdk/core/postcard.h)
// and the Python reader (controlplane/contract/records.py) by golden bytes.
#ifndef NASHBED_COMMON_POSTCARD_P4
#define NASHBED_COMMON_POSTCARD_P4

header postcard_h {
    bit<8>    version;
    bit<8>    kind;           // POSTCARD_DEPARTED or POSTCARD_DROPPED
    lane_t    lane;
    flow_id_t flow;
    bytes_t   packet_bytes;
    bytes_t   queue_bytes;    // in the queue at enqueue, without this packet
    time_ns_t enqueue_ns;     // arrival at the traffic manager
    time_ns_t dequeue_ns;     // end of serialisation; = enqueue_ns if dropped
    bit<32>   tcp_seq;        // 0 for UDP
    bit<32>   lane_seq;       // counts the lane's postcards: a gap is a lost one
    bit<16>   payload_bytes;  // layer-4 payload
    bit<8>    tcp_flags;      // 0 for UDP
    bit<8>    reserved;
}

#endif
