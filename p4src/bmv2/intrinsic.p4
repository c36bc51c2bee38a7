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

const bit<32> CLONE_POSTCARD = 1;  // clone session, to PORT_TELEMETRY
const bit<8>  FIELDS_POSTCARD = 1; // the metadata that the clone keeps

#define FLOW_CAPACITY 4096
#define LANE_CAPACITY 1            // one port to the receivers, so one bottleneck
#define HISTOGRAM_CELLS (LANE_CAPACITY << HISTOGRAM_BINS_LOG2)

// simple_switch's clock is 48 bits of microseconds since its start; ours wraps
// with the 48 bits of nanoseconds.
const time_ns_t NS_PER_US = 1000;

// Times wrap, so "later" is a difference below a bound that no real one reaches:
// between the clocks of two threads, and of a packet's time on the link.
const time_ns_t CLOCK_LAG_NS = 1 << 32;
const time_ns_t LINK_AHEAD_NS = 1 << 40;

const bit<16> ETHERTYPE_POSTCARD = 0x88b5;
const bit<32> POSTCARD_FRAME_BYTES = 60;

#endif
