// SPDX-License-Identifier: Apache-2.0
// What ingress learns about a packet and egress needs: carried in front of the
// packet through the traffic manager, which reads nothing but the queue.
#ifndef NASHBED_COMMON_BRIDGE_P4
#define NASHBED_COMMON_BRIDGE_P4

header bridge_h {
    lane_t    lane;           // the queue, for the traffic manager
    bit<16>   payload_bytes;
    flow_id_t flow;
    bit<32>   tcp_seq;
    bit<8>    tcp_flags;
    bit<24>   reserved;
}

#endif
