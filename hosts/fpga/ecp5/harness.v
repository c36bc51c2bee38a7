// SPDX-License-Identifier: Apache-2.0
/*
 * The core between shift registers, so that it fits a chip's pins and every path that counts
 * begins and ends in a flip-flop. For place and route only; not a design for a board.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module harness #(
    parameter PORTS = 1,
    parameter DATA_WIDTH = 64,
    parameter KEEP_WIDTH = DATA_WIDTH / 8
)
(
    input  wire clk,
    // Shifted into every input of the core
    input  wire in,
    // High: `out` shows every output of the core, one after another, as they were
    input  wire shift,
    output wire out
);

localparam STREAM = PORTS * (DATA_WIDTH + KEEP_WIDTH + 3);
localparam INPUTS = 70 + PORTS + STREAM;
localparam OUTPUTS = 41 + PORTS + STREAM + 1;

reg [INPUTS-1:0] in_reg = {INPUTS{1'b0}};
reg [OUTPUTS-1:0] out_reg = {OUTPUTS{1'b0}};
reg shift_reg = 1'b0;

wire [OUTPUTS-1:0] core;

assign out = out_reg[0];

always @(posedge clk) begin
    in_reg <= {in_reg[INPUTS-2:0], in};
    shift_reg <= shift;
    out_reg <= shift_reg ? {1'b0, out_reg[OUTPUTS-1:1]} : core;
end

wire rst;
wire [15:0] awaddr, araddr;
wire awvalid, wvalid, bready, arvalid, rready;
wire [31:0] wdata;
wire [PORTS-1:0] m_tready, s_tvalid, s_tlast, s_tuser;
wire [PORTS*DATA_WIDTH-1:0] s_tdata;
wire [PORTS*KEEP_WIDTH-1:0] s_tkeep;

assign {
    rst, awaddr, araddr, awvalid, wvalid, bready, arvalid, rready, wdata,
    m_tready, s_tvalid, s_tlast, s_tuser, s_tdata, s_tkeep
} = in_reg;

timestamper #(
    .PORTS(PORTS),
    .DATA_WIDTH(DATA_WIDTH)
)
core_inst (
    .clk(clk),
    .rst(rst),
    .s_axil_awaddr(awaddr),
    .s_axil_awprot(3'd0),
    .s_axil_awvalid(awvalid),
    .s_axil_awready(core[0]),
    .s_axil_wdata(wdata),
    .s_axil_wstrb(4'hf),
    .s_axil_wvalid(wvalid),
    .s_axil_wready(core[1]),
    .s_axil_bresp(core[3:2]),
    .s_axil_bvalid(core[4]),
    .s_axil_bready(bready),
    .s_axil_araddr(araddr),
    .s_axil_arprot(3'd0),
    .s_axil_arvalid(arvalid),
    .s_axil_arready(core[5]),
    .s_axil_rdata(core[37:6]),
    .s_axil_rresp(core[39:38]),
    .s_axil_rvalid(core[40]),
    .s_axil_rready(rready),
    .s_axis_tdata(s_tdata),
    .s_axis_tkeep(s_tkeep),
    .s_axis_tvalid(s_tvalid),
    .s_axis_tready(core[41 +: PORTS]),
    .s_axis_tlast(s_tlast),
    .s_axis_tuser(s_tuser),
    .m_axis_tdata(core[41+PORTS +: PORTS*DATA_WIDTH]),
    .m_axis_tkeep(core[41+PORTS+PORTS*DATA_WIDTH +: PORTS*KEEP_WIDTH]),
    .m_axis_tvalid(core[41+PORTS+PORTS*(DATA_WIDTH+KEEP_WIDTH) +: PORTS]),
    .m_axis_tready(m_tready),
    .m_axis_tlast(core[41+PORTS+PORTS*(DATA_WIDTH+KEEP_WIDTH+1) +: PORTS]),
    .m_axis_tuser(core[41+PORTS+PORTS*(DATA_WIDTH+KEEP_WIDTH+2) +: PORTS]),
    .pps(core[OUTPUTS-1])
);

endmodule

`resetall
