// SPDX-License-Identifier: Apache-2.0
// What Tofino 1 has of its own; intrinsic_tofino2.p4 says the same of Tofino 2.
#ifndef NASHBED_TOFINO_INTRINSIC_CHIP_P4
#define NASHBED_TOFINO_INTRINSIC_CHIP_P4

#include "../common/types.p4"

// The buffer is counted in cells of 80 bytes: 64 + 16.
control CellsToBytes(in bit<32> cells, out bytes_t bytes) {
    bytes_t sixty_four;
    bytes_t sixteen;

    // A stage does one operation on a field: shifts in one, the sum in the next.
    action shift() {
        sixty_four = cells << 6;
        sixteen = cells << 4;
    }

    action add() {
        bytes = sixty_four + sixteen;
    }

    apply {
        shift();
        add();
    }
}

// An egress mirror of this chip copies what leaves the deparser.
control MirrorWhatLeaves(inout egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        to_deparser.mirror_type = 1;
    }
}

#endif
