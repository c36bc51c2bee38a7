// SPDX-License-Identifier: Apache-2.0
/*
 * The board for the test bench: each socket's pins have names of their own, and its PHY is a
 * clock of 125 MHz. The PHY delays the clock that it is sent by 2 ns, to the middle of the data.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module sockets #(
    parameter FIFO_BYTES = 16384
)
(
    input  wire        clk25,
    output wire        led_n,
    input  wire        uart_rx,
    output wire        uart_tx,
    output wire        phy_rst_n,

    output reg         a_rx_clk = 1'b0,
    input  wire        a_rx_ctl,
    input  wire [3:0]  a_rx_data,
    output wire        a_tx_clk,
    output wire        a_tx_ctl,
    output wire [3:0]  a_tx_data,

    output reg         b_rx_clk = 1'b0,
    input  wire        b_rx_ctl,
    input  wire [3:0]  b_rx_data,
    output wire        b_tx_clk,
    output wire        b_tx_ctl,
    output wire [3:0]  b_tx_data
);

wire [1:0] tx_clk;

assign #2 a_tx_clk = tx_clk[0];
assign #2 b_tx_clk = tx_clk[1];

initial forever #4 a_rx_clk = !a_rx_clk;
// A tenth of a per cent slower: every phase of one to the other
initial forever #4.004 b_rx_clk = !b_rx_clk;

top_ecp5 #(
    .FIFO_BYTES(FIFO_BYTES),
    .PHY_RESET_CYCLES(16)
)
board_inst (
    .clk25(clk25),
    .led_n(led_n),
    .uart_rx(uart_rx),
    .uart_tx(uart_tx),
    .phy_rst_n(phy_rst_n),
    .phy_mdc(),
    .rgmii_rx_clk({b_rx_clk, a_rx_clk}),
    .rgmii_rx_ctl({b_rx_ctl, a_rx_ctl}),
    .rgmii_rx_data({b_rx_data, a_rx_data}),
    .rgmii_tx_clk(tx_clk),
    .rgmii_tx_ctl({b_tx_ctl, a_tx_ctl}),
    .rgmii_tx_data({b_tx_data, a_tx_data})
);

endmodule

`resetall
