// SPDX-License-Identifier: Apache-2.0
// What simple_switch tells of a packet, in our units, and what it is told.
#ifndef NASHBED_BMV2_INTRINSIC_P4
#define NASHBED_BMV2_INTRINSIC_P4

#include "../common/types.p4"

typedef bit<9> port_t;

const port_t PORT_SENDERS = 0;
const port_t PORT_RECEIVERS = 1;
const port_t PORT_TELEMETRY = 2;

// Queues of a port (`--priority-queues 2`). The lower one is the bottleneck and
// has its rate; what is not shaped overtakes it.
const bit<3> QUEUE_SHAPED = 0;
const bit<3> QUEUE_UNSHAPED = 1;

const bit<32> MIRROR_SESSION = 1;  // of the clones, to PORT_TELEMETRY
const bit<8>  MIRROR_FIELDS = 1;   // the metadata that a clone keeps

#define FLOW_CAPACITY 4096
#define LANE_CAPACITY 1            // one port to the receivers, so one bottleneck
#define HISTOGRAM_CAPACITY (LANE_CAPACITY << HISTOGRAM_BINS_LOG2)

// Why a packet goes unshaped: the indices of its counter.
const bit<32> UNSHAPED_NOT = 0;
const bit<32> UNSHAPED_REVERSE = 1;    // came from the receivers' side: ACKs
const bit<32> UNSHAPED_UNKNOWN = 2;    // no flow of ours
const bit<32> UNSHAPED_MALFORMED = 3;  // truncated, or lengths that contradict each other
#define UNSHAPED_REASONS 4

// simple_switch's clock is 48 bits of microseconds since its start; ours wraps
// with the 48 bits of nanoseconds.
const time_ns_t NS_PER_US = 1000;

// Times wrap, so "later" is a difference below a bound that no real one reaches:
// between the clocks of two threads, and of a packet's time on the link.
const time_ns_t CLOCK_LAG_NS = 1 << 32;
const time_ns_t LINK_AHEAD_NS = 1 << 40;

const bit<16> ETHERTYPE_POSTCARD = 0x88b5;
const bit<32> FRAME_BYTES_MIN = 60;

#endif
