// SPDX-License-Identifier: Apache-2.0
/*
 * From beats of 64 bits in the core's clock to a MAC that takes bytes in a clock of its own.
 *
 * A frame on the wire cannot pause: once its first beat is here, the others must follow at an
 * eighth of mac_clk. Those of a core that hands out whole frames do.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module mac_tx
(
    input  wire         clk,
    input  wire         rst,
    input  wire [63:0]  s_axis_tdata,
    input  wire [7:0]   s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,

    input  wire         mac_clk,
    input  wire         mac_rst,
    output wire [7:0]   mac_data,
    output wire         mac_valid,
    input  wire         mac_ready,
    output wire         mac_last
);

wire [63:0] beat_data;
wire [7:0] beat_keep;
wire beat_valid;
wire beat_last;

// The beat that is being sent: its next byte in the low bits
reg [63:0] data_reg = 64'd0;
reg [7:0] keep_reg = 8'd0;
reg last_reg = 1'b0;

// The byte that is offered is the last of its beat
wire ends = !keep_reg[1];
wire beat_ready = !mac_valid || (mac_ready && ends);

assign mac_data = data_reg[7:0];
assign mac_valid = keep_reg[0];
assign mac_last = last_reg && ends;

always @(posedge mac_clk) begin
    if (beat_ready) begin
        data_reg <= beat_data;
        keep_reg <= beat_valid ? beat_keep : 8'd0;
        last_reg <= beat_last;
    end else if (mac_ready) begin
        data_reg <= data_reg >> 8;
        keep_reg <= keep_reg >> 1;
    end

    if (mac_rst) begin
        keep_reg <= 8'd0;
    end
end

clock_crossing #(
    .WIDTH(64 + 8 + 1)
)
crossing_inst (
    .s_clk(clk),
    .s_rst(rst),
    .s_beat({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
    .s_valid(s_axis_tvalid),
    .s_ready(s_axis_tready),
    .m_clk(mac_clk),
    .m_rst(mac_rst),
    .m_beat({beat_last, beat_keep, beat_data}),
    .m_valid(beat_valid),
    .m_ready(beat_ready)
);

endmodule

`resetall
