// SPDX-License-Identifier: Apache-2.0
/*
 * From a MAC that gives bytes in a clock of its own to beats of 64 bits in the core's clock.
 *
 * The MAC cannot wait: the core must take a beat in every eighth cycle of mac_clk. Each reaches
 * the FIFO between the clocks in the cycle after its last byte, so that the first beat of every
 * frame is equally late.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module mac_rx
(
    input  wire         mac_clk,
    input  wire         mac_rst,
    input  wire [7:0]   mac_data,
    input  wire         mac_valid,
    input  wire         mac_last,
    // With the last byte: the frame's FCS is wrong
    input  wire         mac_error,

    input  wire         clk,
    input  wire         rst,
    output wire [63:0]  m_axis_tdata,
    output wire [7:0]   m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser
);

reg [63:0] data_reg = 64'd0;
reg [7:0] keep_reg = 8'd0;
// Where the next byte goes, one-hot
reg [7:0] place_reg = 8'd1;
// The beat is whole
reg valid_reg = 1'b0;
reg last_reg = 1'b0;
reg error_reg = 1'b0;

integer i;

always @(posedge mac_clk) begin
    valid_reg <= mac_valid && (mac_last || place_reg[7]);
    last_reg <= mac_last;
    error_reg <= mac_error;

    if (mac_valid) begin
        for (i = 0; i < 8; i = i + 1) begin
            if (place_reg[i]) begin
                data_reg[8*i +: 8] <= mac_data;
            end
        end
        keep_reg <= place_reg[0] ? 8'd1 : {keep_reg[6:0], 1'b1};
        place_reg <= mac_last ? 8'd1 : {place_reg[6:0], place_reg[7]};
    end

    if (mac_rst) begin
        place_reg <= 8'd1;
        valid_reg <= 1'b0;
    end
end

clock_crossing #(
    .WIDTH(64 + 8 + 2)
)
crossing_inst (
    .s_clk(mac_clk),
    .s_rst(mac_rst),
    .s_beat({last_reg && error_reg, last_reg, keep_reg, data_reg}),
    .s_valid(valid_reg),
    .s_ready(),
    .m_clk(clk),
    .m_rst(rst),
    .m_beat({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
    .m_valid(m_axis_tvalid),
    .m_ready(m_axis_tready)
);

endmodule

`resetall
