// SPDX-License-Identifier: Apache-2.0
/*
 * The core with two ports whose streams have names of their own, for the test bench: port 0
 * before a bottleneck, port 1 behind it.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module two_ports #(
    parameter DATA_WIDTH = 64,
    parameter KEEP_WIDTH = DATA_WIDTH / 8,
    parameter PERIOD_NS = 4,
    parameter PERIOD_FNS = 0
)
(
    input  wire                   clk,
    input  wire                   rst,

    input  wire [15:0]            s_axil_awaddr,
    input  wire [2:0]             s_axil_awprot,
    input  wire                   s_axil_awvalid,
    output wire                   s_axil_awready,
    input  wire [31:0]            s_axil_wdata,
    input  wire [3:0]             s_axil_wstrb,
    input  wire                   s_axil_wvalid,
    output wire                   s_axil_wready,
    output wire [1:0]             s_axil_bresp,
    output wire                   s_axil_bvalid,
    input  wire                   s_axil_bready,
    input  wire [15:0]            s_axil_araddr,
    input  wire [2:0]             s_axil_arprot,
    input  wire                   s_axil_arvalid,
    output wire                   s_axil_arready,
    output wire [31:0]            s_axil_rdata,
    output wire [1:0]             s_axil_rresp,
    output wire                   s_axil_rvalid,
    input  wire                   s_axil_rready,

    input  wire [DATA_WIDTH-1:0]  s0_axis_tdata,
    input  wire [KEEP_WIDTH-1:0]  s0_axis_tkeep,
    input  wire                   s0_axis_tvalid,
    output wire                   s0_axis_tready,
    input  wire                   s0_axis_tlast,
    input  wire                   s0_axis_tuser,

    output wire [DATA_WIDTH-1:0]  m0_axis_tdata,
    output wire [KEEP_WIDTH-1:0]  m0_axis_tkeep,
    output wire                   m0_axis_tvalid,
    input  wire                   m0_axis_tready,
    output wire                   m0_axis_tlast,
    output wire                   m0_axis_tuser,

    input  wire [DATA_WIDTH-1:0]  s1_axis_tdata,
    input  wire [KEEP_WIDTH-1:0]  s1_axis_tkeep,
    input  wire                   s1_axis_tvalid,
    output wire                   s1_axis_tready,
    input  wire                   s1_axis_tlast,
    input  wire                   s1_axis_tuser,

    output wire [DATA_WIDTH-1:0]  m1_axis_tdata,
    output wire [KEEP_WIDTH-1:0]  m1_axis_tkeep,
    output wire                   m1_axis_tvalid,
    input  wire                   m1_axis_tready,
    output wire                   m1_axis_tlast,
    output wire                   m1_axis_tuser,

    output wire                   pps
);

timestamper #(
    .PORTS(2),
    .DATA_WIDTH(DATA_WIDTH),
    .DEVICE(9),
    .PERIOD_NS(PERIOD_NS),
    .PERIOD_FNS(PERIOD_FNS)
)
timestamper_inst (
    .clk(clk),
    .rst(rst),
    .s_axil_awaddr(s_axil_awaddr),
    .s_axil_awprot(s_axil_awprot),
    .s_axil_awvalid(s_axil_awvalid),
    .s_axil_awready(s_axil_awready),
    .s_axil_wdata(s_axil_wdata),
    .s_axil_wstrb(s_axil_wstrb),
    .s_axil_wvalid(s_axil_wvalid),
    .s_axil_wready(s_axil_wready),
    .s_axil_bresp(s_axil_bresp),
    .s_axil_bvalid(s_axil_bvalid),
    .s_axil_bready(s_axil_bready),
    .s_axil_araddr(s_axil_araddr),
    .s_axil_arprot(s_axil_arprot),
    .s_axil_arvalid(s_axil_arvalid),
    .s_axil_arready(s_axil_arready),
    .s_axil_rdata(s_axil_rdata),
    .s_axil_rresp(s_axil_rresp),
    .s_axil_rvalid(s_axil_rvalid),
    .s_axil_rready(s_axil_rready),
    .s_axis_tdata({s1_axis_tdata, s0_axis_tdata}),
    .s_axis_tkeep({s1_axis_tkeep, s0_axis_tkeep}),
    .s_axis_tvalid({s1_axis_tvalid, s0_axis_tvalid}),
    .s_axis_tready({s1_axis_tready, s0_axis_tready}),
    .s_axis_tlast({s1_axis_tlast, s0_axis_tlast}),
    .s_axis_tuser({s1_axis_tuser, s0_axis_tuser}),
    .m_axis_tdata({m1_axis_tdata, m0_axis_tdata}),
    .m_axis_tkeep({m1_axis_tkeep, m0_axis_tkeep}),
    .m_axis_tvalid({m1_axis_tvalid, m0_axis_tvalid}),
    .m_axis_tready({m1_axis_tready, m0_axis_tready}),
    .m_axis_tlast({m1_axis_tlast, m0_axis_tlast}),
    .m_axis_tuser({m1_axis_tuser, m0_axis_tuser}),
    .pps(pps)
);

endmodule

`resetall
