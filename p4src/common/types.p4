// SPDX-License-Identifier: Apache-2.0
// Types and constants that every target shares. Pure P4: no extern, no architecture.
#ifndef NASHBED_COMMON_TYPES_P4
#define NASHBED_COMMON_TYPES_P4

typedef bit<16> lane_t;       // one independent bottleneck with its own flows
typedef bit<32> flow_id_t;    // index of the flow's registers, unique over all lanes
typedef bit<48> time_ns_t;    // nanoseconds on the switch clock; wraps after 78 hours
typedef bit<32> bytes_t;      // Ethernet frame bytes without FCS

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8>  IPV4_NO_OPTIONS = 0x45;
const bit<8>  PROTO_TCP = 6;
const bit<8>  PROTO_UDP = 17;
const bit<16> FRAGMENT_OFFSET_MASK = 0x1fff;

// Bytes on the wire before the first byte after each header.
const bytes_t ETHERNET_BYTES = 14;
const bytes_t IPV4_BYTES = 20;
const bytes_t TCP_BYTES = 20;
const bytes_t UDP_BYTES = 8;

const bit<8> POSTCARD_VERSION = 1;
const bit<8> POSTCARD_VERSION_QUEUES = 2;
const bit<8> POSTCARD_DEPARTED = 0;
const bit<8> POSTCARD_DROPPED = 1;

// A flow's queue where the DSCP of each of its packets chooses it.
const bit<8> QUEUE_BY_DSCP = 255;

// The queueing-delay histogram: bins of 2^20 ns (1.048576 ms), the last one
// takes everything beyond. 4,096 bins reach 4.3 s.
#define HISTOGRAM_SHIFT 20
#define HISTOGRAM_BINS_LOG2 12
const bit<32> HISTOGRAM_LAST_BIN = (1 << HISTOGRAM_BINS_LOG2) - 1;

#endif
