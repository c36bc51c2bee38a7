// SPDX-License-Identifier: Apache-2.0
/*
 * Nanoseconds to the fraction of a second in 2^-40, as the trailer has it: exactly
 * floor(t * 2^40 / 10^9 ns) for every t in steps of 2^-16 ns below a second.
 *
 * With x in 2^-16 ns that is floor(x * 2^15 / 5^9). The division is a multiplication by the
 * reciprocal R = ceil(2^81 / 5^9) and a shift by 66; 66 is the least shift whose error
 * x * (R * 5^9 - 2^81) stays below 2^66 for every x < 10^9 * 2^16, which makes it exact
 * (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module second_fraction
(
    input  wire         clk,
    // The pipeline moves only where this is high
    input  wire         enable,

    input  wire [29:0]  ns,
    // 2^-16 ns
    input  wire [15:0]  fns,

    // Six enabled cycles later; 2^-40 s
    output wire [39:0]  fraction
);

// Four digits of 16 bits, as the factors of a chip's multipliers are 18 bits wide
localparam [63:0] RECIPROCAL = 64'h112e0be826d694b3;
localparam SHIFT = 66;
// Where the last sum is cut in two, so that no carry is longer than the others
localparam CUT = 72;

reg [47:0] x_reg = 48'd0;

// Products of digits; three rows, one for each digit of x, of four
reg [31:0] product_reg[0:11];
// A row's sum
reg [79:0] row_reg[0:2];
// The rows of the two low digits of x, then all three below the cut, then above it
reg [95:0] low_sum_reg = 96'd0;
reg [79:0] high_row_reg = 80'd0;
reg [CUT:0] below_reg = {CUT+1{1'b0}};
reg [106:CUT] low_above_reg = 0, high_above_reg = 0;
reg [39:0] fraction_reg = 40'd0;

wire [106:CUT] above = low_above_reg + high_above_reg + {{106-CUT{1'b0}}, below_reg[CUT]};
wire [106:0] low_wide = {11'd0, low_sum_reg};
wire [111:0] high_wide = {high_row_reg, 32'd0};

assign fraction = fraction_reg;

integer i, j;

always @(posedge clk) begin
    if (enable) begin
        x_reg <= {2'd0, ns, fns};

        for (i = 0; i < 3; i = i + 1) begin
            for (j = 0; j < 4; j = j + 1) begin
                product_reg[4*i + j] <= {16'd0, x_reg[16*i +: 16]} * {16'd0, RECIPROCAL[16*j +: 16]};
            end
            // Products two digits apart do not overlap
            row_reg[i] <= {16'd0, product_reg[4*i + 2], product_reg[4*i]}
                + {product_reg[4*i + 3], product_reg[4*i + 1], 16'd0};
        end

        low_sum_reg <= {16'd0, row_reg[0]} + {row_reg[1], 16'd0};
        high_row_reg <= row_reg[2];

        below_reg <= {1'b0, low_wide[CUT-1:0]} + {1'b0, high_wide[CUT-1:0]};
        low_above_reg <= low_wide[106:CUT];
        high_above_reg <= high_wide[106:CUT];

        fraction_reg <= {above[SHIFT + 39:CUT], below_reg[CUT-1:SHIFT]};
    end
end

endmodule

`resetall
