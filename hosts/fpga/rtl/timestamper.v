// SPDX-License-Identifier: Apache-2.0
/*
 * The core: a PTP clock, ports that stamp frames with it, and an AXI4-Lite register block
 * (registers.vh). Ports side by side in one vector, port 0 in the low bits; port p says p in
 * its trailers.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "registers.vh"

module timestamper #(
    parameter PORTS = 2,
    // Width of each stream in bits: 64 or 512
    parameter DATA_WIDTH = 64,
    parameter KEEP_WIDTH = DATA_WIDTH / 8,
    // What the trailers say about where this is
    parameter DEVICE = 0,
    // 1: behind MACs that cannot wait; a frame that does not fit is dropped and counted
    parameter DROP_WHEN_FULL = 0,
    // Bytes of each port's FIFO; with DROP_WHEN_FULL at least the longest frame
    parameter FIFO_BYTES = 16384,
    // Nominal period of clk: whole nanoseconds, and units of 2^-32 ns
    parameter PERIOD_NS = 8,
    parameter PERIOD_FNS = 0
)
(
    input  wire                         clk,
    input  wire                         rst,

    input  wire [15:0]                  s_axil_awaddr,
    input  wire [2:0]                   s_axil_awprot,
    input  wire                         s_axil_awvalid,
    output wire                         s_axil_awready,
    input  wire [31:0]                  s_axil_wdata,
    input  wire [3:0]                   s_axil_wstrb,
    input  wire                         s_axil_wvalid,
    output wire                         s_axil_wready,
    output wire [1:0]                   s_axil_bresp,
    output wire                         s_axil_bvalid,
    input  wire                         s_axil_bready,
    input  wire [15:0]                  s_axil_araddr,
    input  wire [2:0]                   s_axil_arprot,
    input  wire                         s_axil_arvalid,
    output wire                         s_axil_arready,
    output wire [31:0]                  s_axil_rdata,
    output wire [1:0]                   s_axil_rresp,
    output wire                         s_axil_rvalid,
    input  wire                         s_axil_rready,

    input  wire [PORTS*DATA_WIDTH-1:0]  s_axis_tdata,
    input  wire [PORTS*KEEP_WIDTH-1:0]  s_axis_tkeep,
    input  wire [PORTS-1:0]             s_axis_tvalid,
    output wire [PORTS-1:0]             s_axis_tready,
    input  wire [PORTS-1:0]             s_axis_tlast,
    input  wire [PORTS-1:0]             s_axis_tuser,

    output wire [PORTS*DATA_WIDTH-1:0]  m_axis_tdata,
    output wire [PORTS*KEEP_WIDTH-1:0]  m_axis_tkeep,
    output wire [PORTS-1:0]             m_axis_tvalid,
    input  wire [PORTS-1:0]             m_axis_tready,
    output wire [PORTS-1:0]             m_axis_tlast,
    output wire [PORTS-1:0]             m_axis_tuser,

    output wire                         pps
);

// Of the ports: the FIFO, ethernet_fcs, axis_append
localparam TRANSIT = 3 + (3 + $clog2(KEEP_WIDTH) + 1) + 3;
// Of the clock, and of the register in front of it
localparam CLOCK_LATENCY = 3;
localparam STEP = 2 + CLOCK_LATENCY;

initial begin
    if (PORTS < 1 || PORTS > 256) begin
        $display("Error: PORTS must be 1 to 256 (instance %m)");
        $finish;
    end
end

// Registers that software writes
reg [29:0] set_ns_reg = 30'd0;
reg [31:0] set_fns_reg = 32'd0;
reg [47:0] set_s_reg = 48'd0;
reg set_valid_reg = 1'b0;
reg [31:0] period_fns_reg = 32'd0;
reg [7:0] period_ns_reg = 8'd0;
reg period_valid_reg = 1'b0;
// An address that was taken is looked at in the cycle after it
reg read_reg = 1'b0;
reg [15:0] address_reg = 16'd0;
reg [15:0] port_offset_reg = 16'd0;
// Snapshot of the clock
reg [31:0] now_fns_reg = 32'd0;
reg [47:0] now_s_reg = 48'd0;

reg bvalid_reg = 1'b0;
reg rvalid_reg = 1'b0;
reg [31:0] rdata_reg = 32'd0, rdata_next;

wire [47:0] ts_s;
wire [29:0] ts_ns;
wire [31:0] ts_fns;
wire [PORTS*32-1:0] frames;
wire [PORTS*32-1:0] dropped;
wire [PORTS*32-1:0] errors;
wire [PORTS*32-1:0] runts;

// One access at a time each way: taken once address and data are there and the last answer went
wire write = s_axil_awvalid && s_axil_wvalid && !bvalid_reg;
wire read = s_axil_arvalid && !read_reg && !rvalid_reg;
wire [11:0] read_port = port_offset_reg / `PORT_STRIDE;
wire is_counter = address_reg >= `REG_PORTS && read_port < PORTS;

assign s_axil_awready = write;
assign s_axil_wready = write;
assign s_axil_bresp = 2'b00;
assign s_axil_bvalid = bvalid_reg;
assign s_axil_arready = read;
assign s_axil_rdata = rdata_reg;
assign s_axil_rresp = 2'b00;
assign s_axil_rvalid = rvalid_reg;

always @* begin
    rdata_next = 32'd0;

    case (address_reg)
        `REG_TYPE: rdata_next = `TYPE_WORD;
        `REG_VERSION: rdata_next = `VERSION_WORD;
        `REG_SHAPE: rdata_next = {PORTS[15:0], DATA_WIDTH[15:0]};
        `REG_NOW_NS: rdata_next = {2'd0, ts_ns};
        `REG_NOW_FNS: rdata_next = now_fns_reg;
        `REG_NOW_S: rdata_next = now_s_reg[31:0];
        `REG_NOW_S_HIGH: rdata_next = {16'd0, now_s_reg[47:32]};
        `REG_LATENCY: rdata_next = {8'd0, TRANSIT[7:0], STEP[7:0], 8'd0};
        default: rdata_next = 32'd0;
    endcase

    if (is_counter) begin
        case (port_offset_reg % `PORT_STRIDE)
            `PORT_FRAMES: rdata_next = frames[read_port*32 +: 32];
            `PORT_DROPPED: rdata_next = dropped[read_port*32 +: 32];
            `PORT_ERRORS: rdata_next = errors[read_port*32 +: 32];
            `PORT_RUNTS: rdata_next = runts[read_port*32 +: 32];
            default: rdata_next = 32'd0;
        endcase
    end
end

always @(posedge clk) begin
    set_valid_reg <= 1'b0;
    period_valid_reg <= 1'b0;

    if (write) begin
        bvalid_reg <= 1'b1;
        case (s_axil_awaddr)
            `REG_SET_NS: set_ns_reg <= s_axil_wdata[29:0];
            `REG_SET_FNS: set_fns_reg <= s_axil_wdata;
            `REG_SET_S: set_s_reg[31:0] <= s_axil_wdata;
            `REG_SET_S_HIGH: begin
                set_s_reg[47:32] <= s_axil_wdata[15:0];
                set_valid_reg <= 1'b1;
            end
            `REG_PERIOD_FNS: period_fns_reg <= s_axil_wdata;
            `REG_PERIOD_NS: begin
                period_ns_reg <= s_axil_wdata[7:0];
                period_valid_reg <= 1'b1;
            end
            default: ;
        endcase
    end else if (s_axil_bready) begin
        bvalid_reg <= 1'b0;
    end

    read_reg <= read;
    address_reg <= s_axil_araddr;
    port_offset_reg <= s_axil_araddr - `REG_PORTS;

    if (read_reg) begin
        rvalid_reg <= 1'b1;
        rdata_reg <= rdata_next;
        if (address_reg == `REG_NOW_NS) begin
            now_fns_reg <= ts_fns;
            now_s_reg <= ts_s;
        end
    end else if (s_axil_rready) begin
        rvalid_reg <= 1'b0;
    end

    if (rst) begin
        set_valid_reg <= 1'b0;
        period_valid_reg <= 1'b0;
        bvalid_reg <= 1'b0;
        read_reg <= 1'b0;
        rvalid_reg <= 1'b0;
    end
end

ptp_clock #(
    .PERIOD_NS(PERIOD_NS),
    .PERIOD_FNS(PERIOD_FNS),
    .LATENCY(CLOCK_LATENCY)
)
clock_inst (
    .clk(clk),
    .rst(rst),
    .ts_s(ts_s),
    .ts_ns(ts_ns),
    .ts_fns(ts_fns),
    .pps(pps),
    .period_ns(period_ns_reg),
    .period_fns(period_fns_reg),
    .period_valid(period_valid_reg),
    .set_s(set_s_reg),
    .set_ns(set_ns_reg),
    .set_fns(set_fns_reg),
    .set_valid(set_valid_reg)
);

genvar n;
generate

for (n = 0; n < PORTS; n = n + 1) begin : ports
    timestamp_port #(
        .DATA_WIDTH(DATA_WIDTH),
        .DEVICE(DEVICE),
        .PORT(n),
        .DROP_WHEN_FULL(DROP_WHEN_FULL),
        .FIFO_BYTES(FIFO_BYTES)
    )
    port_inst (
        .clk(clk),
        .rst(rst),
        .ts_s(ts_s[31:0]),
        .ts_ns(ts_ns),
        .ts_fns(ts_fns[31:16]),
        .s_axis_tdata(s_axis_tdata[n*DATA_WIDTH +: DATA_WIDTH]),
        .s_axis_tkeep(s_axis_tkeep[n*KEEP_WIDTH +: KEEP_WIDTH]),
        .s_axis_tvalid(s_axis_tvalid[n]),
        .s_axis_tready(s_axis_tready[n]),
        .s_axis_tlast(s_axis_tlast[n]),
        .s_axis_tuser(s_axis_tuser[n]),
        .m_axis_tdata(m_axis_tdata[n*DATA_WIDTH +: DATA_WIDTH]),
        .m_axis_tkeep(m_axis_tkeep[n*KEEP_WIDTH +: KEEP_WIDTH]),
        .m_axis_tvalid(m_axis_tvalid[n]),
        .m_axis_tready(m_axis_tready[n]),
        .m_axis_tlast(m_axis_tlast[n]),
        .m_axis_tuser(m_axis_tuser[n]),
        .frames(frames[n*32 +: 32]),
        .dropped(dropped[n*32 +: 32]),
        .errors(errors[n*32 +: 32]),
        .runts(runts[n*32 +: 32])
    );
end

endgenerate

endmodule

`resetall
