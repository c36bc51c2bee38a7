// SPDX-License-Identifier: Apache-2.0
// What ingress learns about a packet and egress needs: carried in front of the
// packet through the traffic manager, which reads lane, queue and ToS byte.
#ifndef NASHBED_COMMON_BRIDGE_P4
#define NASHBED_COMMON_BRIDGE_P4

header bridge_h {
    lane_t    lane;           // the bottleneck, for the traffic manager
    bit<16>   payload_bytes;
    flow_id_t flow;
    bit<32>   tcp_seq;
    bit<8>    tcp_flags;
    bit<8>    queue;          // which of the lane's queues
    bit<8>    reserved;
    bit<8>    tos;            // for a queue that marks: its lowest two bits are ECN
}

#endif
