// SPDX-License-Identifier: Apache-2.0
// What travels in front of a packet inside the chip, and the sizes of its
// tables: alike on Tofino 1 and 2. A packet goes through egress once if it is
// shaped; its postcard, an egress mirror, is a second packet there. What is not
// shaped bypasses egress, so everything that egress sees begins with PASS_*.
#ifndef NASHBED_TOFINO_INTRINSIC_P4
#define NASHBED_TOFINO_INTRINSIC_P4

#include "../common/types.p4"

typedef bit<4> pass_t;             // the first bits of everything that egress sees
const pass_t PASS_SHAPED = 0;    // from ingress: stamp, bridge, frame
const pass_t PASS_DEPARTED = 1;  // mirrored: the packet left the queue
const pass_t PASS_DROPPED = 2;   // mirrored: it was dropped at the queue and deflected

// In front of the bridge. The frame's length is measured once, so that arrivals,
// departures and drops count the same bytes: egress would see its own headers
// and the FCS in the length that the chip tells.
header stamp_h {
    pass_t    pass;         // PASS_SHAPED
    bit<12>   reserved;
    bit<16>   frame_bytes;  // on the wire, without FCS
    time_ns_t ingress_ns;   // the chip's clock as the packet enters ingress; wraps after 78 hours
}

// In front of a mirrored packet: 32 bytes, the most that Tofino 1 has room for.
// The second egress pass makes a postcard of it.
header mirror_h {
    pass_t    pass;         // PASS_DEPARTED or PASS_DROPPED
    bit<4>    lane;
    bit<16>   flow;
    bit<16>   frame_bytes;
    bit<32>   queue_cells;  // in the queue at enqueue
    time_ns_t enqueue_ns;
    time_ns_t dequeue_ns;   // the chip's clock as the packet enters egress
    bit<32>   tcp_seq;
    bit<32>   lane_seq;
    bit<16>   payload_bytes;
    bit<8>    tcp_flags;
}

const MirrorType_t MIRROR_POSTCARD = 1;       // the field list; MirrorWhatLeaves chooses it
const MirrorId_t   MIRROR_SESSION = 1;        // its port is the control plane's to set

// A postcard's frame (p4src/README.md): the addresses are free, the type is
// IEEE's for local experiments.
const bit<16> ETHERTYPE_POSTCARD = 0x88b5;
const bit<48> REPORT_DST_ADDR = 0x026e62000011;
const bit<48> REPORT_SRC_ADDR = 0x026e62000010;

#define FLOW_CAPACITY 16384
#define LANE_CAPACITY 16
#define HISTOGRAM_CAPACITY (LANE_CAPACITY << HISTOGRAM_BINS_LOG2)
typedef bit<16> histogram_index_t;            // as wide as HISTOGRAM_CAPACITY needs
typedef bit<16> flow_index_t;                // as wide as mirror_h has it
typedef bit<4>  lane_index_t;               // as wide as LANE_CAPACITY needs

// A byte count of 47 bits: the low word wraps at 2^15, one access a packet. No frame
// is longer, so what is added and compared fits the 16 bits that a length comes in:
// the chip cannot move it into a wider container.
struct byte_count_t {
    bit<32> low;
    bit<32> high;
}
const bit<16> BYTE_COUNT_WRAP = 1 << 15;

// The chip's clock as the control plane reads it.
struct clock_t {
    bit<32> high;
    bit<32> low;
}

#endif
