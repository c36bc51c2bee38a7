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

    // Two enabled cycles later; 2^-40 s
    output wire [39:0]  fraction
);

localparam [60:0] RECIPROCAL = 61'h112e0be826d694b3;
localparam SHIFT = 66;

// Two partial products in the first stage, their sum in the second
reg [83:0] low_reg = 84'd0, high_reg = 84'd0;
reg [106:0] product_reg = 107'd0;

wire [45:0] x = {ns, fns};

assign fraction = product_reg[SHIFT +: 40];

always @(posedge clk) begin
    if (enable) begin
        low_reg <= {61'd0, x[22:0]} * {23'd0, RECIPROCAL};
        high_reg <= {61'd0, x[45:23]} * {23'd0, RECIPROCAL};
        product_reg <= {23'd0, low_reg} + {high_reg, 23'd0};
    end
end

endmodule

`resetall
