// SPDX-License-Identifier: Apache-2.0
/*
 * mac_rx and mac_tx behind each other, for the test bench: bytes of one MAC in, beats between
 * them in the core's clock, bytes of another MAC out. The beats can be held back.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module both_ways
(
    input  wire        rx_clk,
    input  wire        tx_clk,
    input  wire        clk,
    input  wire        rst,

    input  wire [7:0]  rx_data,
    input  wire        rx_valid,
    input  wire        rx_last,
    input  wire        rx_error,

    output wire [63:0] m_axis_tdata,
    output wire [7:0]  m_axis_tkeep,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,
    output wire        m_axis_tlast,
    output wire        m_axis_tuser,

    input  wire [63:0] s_axis_tdata,
    input  wire [7:0]  s_axis_tkeep,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,
    input  wire        s_axis_tlast,

    output wire [7:0]  tx_data,
    output wire        tx_valid,
    input  wire        tx_ready,
    output wire        tx_last
);

mac_rx rx_inst (
    .mac_clk(rx_clk),
    .mac_rst(rst),
    .mac_data(rx_data),
    .mac_valid(rx_valid),
    .mac_last(rx_last),
    .mac_error(rx_error),
    .clk(clk),
    .rst(rst),
    .m_axis_tdata(m_axis_tdata),
    .m_axis_tkeep(m_axis_tkeep),
    .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready),
    .m_axis_tlast(m_axis_tlast),
    .m_axis_tuser(m_axis_tuser)
);

mac_tx tx_inst (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(s_axis_tdata),
    .s_axis_tkeep(s_axis_tkeep),
    .s_axis_tvalid(s_axis_tvalid),
    .s_axis_tready(s_axis_tready),
    .s_axis_tlast(s_axis_tlast),
    .mac_clk(tx_clk),
    .mac_rst(rst),
    .mac_data(tx_data),
    .mac_valid(tx_valid),
    .mac_ready(tx_ready),
    .mac_last(tx_last)
);

endmodule

`resetall
