// SPDX-License-Identifier: Apache-2.0
// What Tofino 2 has of its own; intrinsic_tofino1.p4 says the same of Tofino 1.
#ifndef NASHBED_TOFINO_INTRINSIC_CHIP_P4
#define NASHBED_TOFINO_INTRINSIC_CHIP_P4

#include "../common/types.p4"

// The buffer is counted in cells of 176 bytes: 128 + 32 + 16.
control CellsToBytes(in bit<32> cells, out bytes_t bytes) {
    bytes_t hundred_twenty_eight;
    bytes_t thirty_two;
    bytes_t sixteen;

    // A stage does one operation on a field: shifts in one, a sum in each of the next two.
    action shift() {
        hundred_twenty_eight = cells << 7;
        thirty_two = cells << 5;
        sixteen = cells << 4;
    }

    action add_first() {
        bytes = hundred_twenty_eight + thirty_two;
    }

    action add_second() {
        bytes = bytes + sixteen;
    }

    apply {
        shift();
        add_first();
        add_second();
    }
}

// An egress mirror of this chip copies what comes in unless it is told otherwise.
control MirrorWhatLeaves(inout egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        to_deparser.mirror_type = 1;
        to_deparser.mirror_io_select = 1;
    }
}

#endif
