// SPDX-License-Identifier: Apache-2.0
/*
 * PTP clock: seconds, nanoseconds and 2^-32 ns. It is steered by its period (2^-32 ns of 8 ns
 * is 0.03 parts per billion) and stepped by setting it.
 *
 * Three digits, each added one cycle behind the one below it, so that no carry goes through more
 * than one of them in a cycle. A second is a whole number of nanoseconds: only the digit of the
 * nanoseconds wraps. The lower digits wait for the upper ones before they are shown, and a step
 * and a change of period take the same way, so that they become visible LATENCY cycles later and
 * no cycle shows a mixture.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module ptp_clock #(
    // Nominal period: whole nanoseconds
    parameter PERIOD_NS = 8,
    // and units of 2^-32 ns
    parameter PERIOD_FNS = 0,
    // Cycles by which a step or a new period is seen late: given, not chosen
    parameter LATENCY = 3
)
(
    input  wire         clk,
    input  wire         rst,

    // The time of this cycle
    output wire [47:0]  ts_s,
    output wire [29:0]  ts_ns,
    output wire [31:0]  ts_fns,
    // This cycle is the first of a second
    output wire         pps,

    // Steer: the period of the cycle that is shown LATENCY cycles later, and of all after it
    input  wire [7:0]   period_ns,
    input  wire [31:0]  period_fns,
    input  wire         period_valid,

    // Step: the time shown LATENCY + 1 cycles later
    input  wire [47:0]  set_s,
    input  wire [29:0]  set_ns,
    input  wire [31:0]  set_fns,
    input  wire         set_valid
);

localparam [30:0] SECOND_NS = 31'd1000000000;

initial begin
    if (PERIOD_NS < 0 || PERIOD_NS > 255) begin
        $display("Error: PERIOD_NS must be 0 to 255 (instance %m)");
        $finish;
    end
    if (LATENCY != 3) begin
        $display("Error: LATENCY is that of the three digits (instance %m)");
        $finish;
    end
end

// What was asked for, one cycle later for each digit
reg [7:0] period_ns_reg[0:1];
reg [31:0] period_fns_reg = PERIOD_FNS[31:0];
// The period less a second, for the candidate that wraps
reg [30:0] period_wrap_reg = {23'd0, PERIOD_NS[7:0]} - SECOND_NS;
reg [2:0] set_reg = 3'd0;
reg [2:0] rst_reg = 3'b111;
reg [31:0] set_fns_reg = 32'd0;
reg [29:0] set_ns_reg[0:1];
reg [47:0] set_s_reg[0:2];

// 2^-32 ns: the newest digit, and as it was in the cycles of the others
reg [31:0] fns_reg[0:2];
reg carry_reg = 1'b0;
// Nanoseconds
reg [29:0] ns_reg[0:1];
reg wrap_reg = 1'b0;
reg pps_reg = 1'b0;
reg [47:0] s_reg = 48'd0;

// The nanoseconds with the next period, and with a second taken off: not negative, it wraps
wire [30:0] plain = {1'b0, ns_reg[0]} + {23'd0, period_ns_reg[1]} + {30'd0, carry_reg};
wire [30:0] wrapped = {1'b0, ns_reg[0]} + period_wrap_reg + {30'd0, carry_reg};
wire wraps = !wrapped[30];

assign ts_s = s_reg;
assign ts_ns = ns_reg[1];
assign ts_fns = fns_reg[2];
assign pps = pps_reg;

initial begin
    period_ns_reg[0] = PERIOD_NS[7:0];
    period_ns_reg[1] = PERIOD_NS[7:0];
    fns_reg[0] = 32'd0;
    fns_reg[1] = 32'd0;
    fns_reg[2] = 32'd0;
    ns_reg[0] = 30'd0;
    ns_reg[1] = 30'd0;
end

always @(posedge clk) begin
    set_reg <= {set_reg[1:0], set_valid};
    rst_reg <= {rst_reg[1:0], rst};
    set_fns_reg <= set_fns;
    set_ns_reg[0] <= set_ns;
    set_ns_reg[1] <= set_ns_reg[0];
    set_s_reg[0] <= set_s;
    set_s_reg[1] <= set_s_reg[0];
    set_s_reg[2] <= set_s_reg[1];

    if (period_valid) begin
        period_ns_reg[0] <= period_ns;
        period_fns_reg <= period_fns;
    end
    period_ns_reg[1] <= period_ns_reg[0];
    period_wrap_reg <= {23'd0, period_ns_reg[0]} - SECOND_NS;

    {carry_reg, fns_reg[0]} <= {1'b0, fns_reg[0]} + {1'b0, period_fns_reg};
    fns_reg[1] <= fns_reg[0];
    fns_reg[2] <= fns_reg[1];

    ns_reg[0] <= wraps ? wrapped[29:0] : plain[29:0];
    wrap_reg <= wraps;
    ns_reg[1] <= ns_reg[0];

    if (wrap_reg) begin
        s_reg <= s_reg + 48'd1;
    end
    pps_reg <= wrap_reg;

    if (set_reg[0]) begin
        {carry_reg, fns_reg[0]} <= {1'b0, set_fns_reg};
    end
    if (set_reg[1]) begin
        ns_reg[0] <= set_ns_reg[1];
        wrap_reg <= 1'b0;
    end
    if (set_reg[2]) begin
        s_reg <= set_s_reg[2];
        pps_reg <= 1'b0;
    end

    if (rst) begin
        period_ns_reg[0] <= PERIOD_NS[7:0];
        period_fns_reg <= PERIOD_FNS[31:0];
        set_reg <= 3'd0;
    end
    if (rst_reg[0]) begin
        {carry_reg, fns_reg[0]} <= 33'd0;
    end
    if (rst_reg[1]) begin
        ns_reg[0] <= 30'd0;
        wrap_reg <= 1'b0;
    end
    if (rst_reg[2]) begin
        s_reg <= 48'd0;
        pps_reg <= 1'b0;
    end
end

endmodule

`resetall
