// SPDX-License-Identifier: Apache-2.0
/*
 * What the board's top level and LiteEth's PHY use of an ECP5, as it behaves: no metastability,
 * and no delay but DELAYG's nominal 25 ps a tap.
 */

`timescale 1ns / 1ps
`default_nettype none

// Q0 and Q1: what was there at the rising and at the falling edge before this rising one
module IDDRX1F (
    input  wire D,
    input  wire SCLK,
    output reg  Q0 = 1'b0,
    output reg  Q1 = 1'b0
);

reg rise_reg = 1'b0;
reg fall_reg = 1'b0;

always @(posedge SCLK) begin
    rise_reg <= D;
    Q0 <= rise_reg;
    Q1 <= fall_reg;
end

always @(negedge SCLK) begin
    fall_reg <= D;
end

endmodule

module ODDRX1F (
    input  wire D0,
    input  wire D1,
    input  wire SCLK,
    output wire Q
);

reg d0_reg = 1'b0;
reg d1_reg = 1'b0;

assign Q = SCLK ? d0_reg : d1_reg;

always @(posedge SCLK) begin
    d0_reg <= D0;
    d1_reg <= D1;
end

endmodule

module DELAYG #(
    parameter DEL_MODE = "USER_DEFINED",
    parameter DEL_VALUE = 0
)
(
    input  wire A,
    output reg  Z = 1'b0
);

always @(A) begin
    Z <= #(DEL_VALUE * 0.025) A;
end

endmodule

// A flip-flop that is set whenever PD is high
module FD1S3BX (
    input  wire D,
    input  wire CK,
    input  wire PD,
    output reg  Q = 1'b1
);

always @(posedge CK or posedge PD) begin
    Q <= PD ? 1'b1 : D;
end

endmodule

// CLKI times CLKFB_DIV / CLKI_DIV, with half a period that is whole picoseconds; locked after some
module EHXPLLL #(
    parameter CLKI_DIV = 1,
    parameter CLKFB_DIV = 1,
    parameter CLKOP_DIV = 8,
    parameter CLKOP_CPHASE = 0,
    parameter CLKOP_ENABLE = "ENABLED",
    parameter FEEDBK_PATH = "CLKOP"
)
(
    input  wire CLKI,
    input  wire CLKFB,
    input  wire RST,
    input  wire STDBY,
    input  wire PHASESEL0,
    input  wire PHASESEL1,
    input  wire PHASEDIR,
    input  wire PHASESTEP,
    input  wire PHASELOADREG,
    input  wire PLLWAKESYNC,
    input  wire ENCLKOP,
    output reg  CLKOP = 1'b0,
    output reg  LOCK = 1'b0
);

localparam PERIODS = 10;

real first;
real half;
integer n;

initial begin
    @(posedge CLKI);
    first = $realtime;
    repeat (PERIODS) @(posedge CLKI);
    half = ($realtime - first) * CLKI_DIV / (2 * PERIODS * CLKFB_DIV);
    forever begin
        for (n = 0; n < 2 * PERIODS * CLKFB_DIV / CLKI_DIV; n = n + 1) begin
            CLKOP = !CLKOP;
            #half;
        end
        LOCK = 1'b1;
    end
end

endmodule

`default_nettype wire
