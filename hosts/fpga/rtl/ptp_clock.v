// SPDX-License-Identifier: Apache-2.0
/*
 * PTP clock: seconds, nanoseconds and 2^-32 ns. It is steered by its period (2^-32 ns of 4 ns
 * is 0.06 parts per billion) and stepped by setting it.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module ptp_clock #(
    // Nominal period: whole nanoseconds
    parameter PERIOD_NS = 4,
    // and units of 2^-32 ns
    parameter PERIOD_FNS = 0
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

    // Steer: the period from this cycle on
    input  wire [7:0]   period_ns,
    input  wire [31:0]  period_fns,
    input  wire         period_valid,

    // Step: the time of the next cycle
    input  wire [47:0]  set_s,
    input  wire [29:0]  set_ns,
    input  wire [31:0]  set_fns,
    input  wire         set_valid
);

localparam [62:0] SECOND = {31'd1000000000, 32'd0};

initial begin
    if (PERIOD_NS < 0 || PERIOD_NS > 255) begin
        $display("Error: PERIOD_NS must be 0 to 255 (instance %m)");
        $finish;
    end
end

reg [47:0] s_reg = 48'd0, s_next;
// One bit more than a second needs: the sum before the wrap
reg [61:0] time_reg = 62'd0, time_next;
reg [39:0] period_reg = {PERIOD_NS[7:0], PERIOD_FNS[31:0]}, period_next;
reg pps_reg = 1'b0, pps_next;

wire [62:0] sum = {1'b0, time_reg} + {23'd0, period_next};
wire [62:0] wrapped = sum - SECOND;

assign ts_s = s_reg;
assign ts_ns = time_reg[61:32];
assign ts_fns = time_reg[31:0];
assign pps = pps_reg;

always @* begin
    period_next = period_valid ? {period_ns, period_fns} : period_reg;
    s_next = s_reg;
    time_next = sum[61:0];
    pps_next = 1'b0;

    if (sum >= SECOND) begin
        s_next = s_reg + 48'd1;
        time_next = wrapped[61:0];
        pps_next = 1'b1;
    end

    if (set_valid) begin
        s_next = set_s;
        time_next = {set_ns, set_fns};
        pps_next = 1'b0;
    end
end

always @(posedge clk) begin
    s_reg <= s_next;
    time_reg <= time_next;
    period_reg <= period_next;
    pps_reg <= pps_next;

    if (rst) begin
        s_reg <= 48'd0;
        time_reg <= 62'd0;
        period_reg <= {PERIOD_NS[7:0], PERIOD_FNS[31:0]};
        pps_reg <= 1'b0;
    end
end

endmodule

`resetall
