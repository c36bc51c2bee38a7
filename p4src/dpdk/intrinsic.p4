// SPDX-License-Identifier: Apache-2.0
// The intrinsic metadata of this target. SWX has neither a traffic manager nor
// an egress stage nor a clock, so the fixed function (hosts/dpdk) puts this
// header in front of every packet it hands to the pipeline, as a switch chip
// puts its own. One program makes both passes and so ingress and egress share
// registers, which is what lets P4 know each flow's bytes in the queue.
#ifndef NASHBED_DPDK_INTRINSIC_P4
#define NASHBED_DPDK_INTRINSIC_P4

#include "../common/types.p4"

header intrinsic_h {
    bit<8>    pass;          // PASS_*
    bit<8>    ingress_port;  // the physical port the packet came in by
    bit<8>    marks;         // second pass: the last byte of the postcard
    bit<8>    queues;        // second pass: 1 + the packet's queue; 0: the lane has one queue only
    bytes_t   packet_bytes;  // on the wire, without FCS
    bytes_t   queue_bytes;   // second pass: lane at enqueue, without this packet
    bytes_t   own_queue_bytes;  // second pass: of them, in its own queue
    time_ns_t enqueue_ns;    // arrival (first pass: now)
    time_ns_t dequeue_ns;    // second pass: end of serialisation, or when it was dropped
}

const bit<8> PASS_INGRESS = 0;
const bit<8> PASS_DEPARTED = 1;
const bit<8> PASS_DROPPED = 2;   // deflect-on-drop
const bit<8> PASS_MARKED = 3;    // departed, and CE is to be set

// The ECN field: not capable (0), ECT(1), ECT(0), or CE, which a bottleneck sets.
const bit<8> ECN_MASK = 0x03;
const bit<8> ECN_CE = 0x03;

// Pipeline ports. The two wires carry plain frames.
const bit<32> PORT_SENDERS = 0;
const bit<32> PORT_RECEIVERS = 1;
const bit<32> PORT_QUEUE = 2;      // to the traffic manager, bridge in front
const bit<32> PORT_EGRESS = 3;     // to the receivers' wire, postcard in front, stripped there
const bit<32> PORT_TELEMETRY = 4;  // to the collector: the postcard alone is kept
const bit<32> PORT_DROP = 5;       // the last port is SWX's drop; nothing is meant to go there

const MirrorSlotId_t    MIRROR_SLOT = (MirrorSlotId_t)0;
const MirrorSessionId_t MIRROR_SESSION = (MirrorSessionId_t)1;  // 0 is the architecture's

#define FLOW_CAPACITY 65536
#define LANE_CAPACITY 64
// An entry for each DSCP of each lane.
#define DSCP_CAPACITY (LANE_CAPACITY << 6)
#define HISTOGRAM_CAPACITY (LANE_CAPACITY << HISTOGRAM_BINS_LOG2)

// Why a packet goes unshaped: the indices of its counter.
const bit<32> UNSHAPED_NOT = 0;
const bit<32> UNSHAPED_REVERSE = 1;    // came from the receivers' side: ACKs
const bit<32> UNSHAPED_UNKNOWN = 2;    // no flow of ours
const bit<32> UNSHAPED_MALFORMED = 3;  // truncated, or lengths that contradict each other
#define UNSHAPED_REASONS 4

#endif
