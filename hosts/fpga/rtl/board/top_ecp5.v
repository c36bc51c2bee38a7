// SPDX-License-Identifier: Apache-2.0
/*
 * The Colorlight i5 (v7.0) as a timestamper in a link of 1 Gbit/s: what comes in at one socket goes
 * out at the other with a trailer, both ways. Port 0 stamps what comes in at socket 0. A host
 * reads and sets the clock over a serial line. Pins: ../../ecp5/colorlight_i5.lpf.
 *
 * PHY, MAC and the serial line's bridge are written by ../../mac.py with LiteEth and LiteX.
 *
 *   clk       62.5 MHz from the oscillator's 25: core, registers, serial line
 *   rgmii_rx  125 MHz from each PHY: its MAC, both ways (the PHY sends by the clock of its link)
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module top_ecp5 #(
    parameter FIFO_BYTES = 16384,
    // Cycles of 25 MHz for which the PHYs are held in reset after power-up: 21 ms
    parameter PHY_RESET_CYCLES = 1 << 19
)
(
    input  wire        clk25,
    output wire        led_n,

    input  wire        uart_rx,
    output wire        uart_tx,

    // The PHYs' pins, socket 0 in the low bits
    output wire        phy_rst_n,
    output wire        phy_mdc,
    input  wire [1:0]  rgmii_rx_clk,
    input  wire [1:0]  rgmii_rx_ctl,
    input  wire [7:0]  rgmii_rx_data,
    output wire [1:0]  rgmii_tx_clk,
    output wire [1:0]  rgmii_tx_ctl,
    output wire [7:0]  rgmii_tx_data
);

wire clk;
wire locked;

// 25 MHz x 5 / 2; the VCO runs at 625 MHz
(* ICP_CURRENT="12", LPF_RESISTOR="8", MFG_ENABLE_FILTEROPAMP="1", MFG_GMCREF_SEL="2" *)
EHXPLLL #(
    .CLKI_DIV(2),
    .CLKFB_DIV(5),
    .CLKOP_DIV(10),
    .CLKOP_ENABLE("ENABLED"),
    .CLKOP_CPHASE(4),
    .FEEDBK_PATH("CLKOP")
)
pll_inst (
    .CLKI(clk25),
    .CLKFB(clk),
    .CLKOP(clk),
    .LOCK(locked),
    .RST(1'b0),
    .STDBY(1'b0),
    .PHASESEL0(1'b0),
    .PHASESEL1(1'b0),
    .PHASEDIR(1'b0),
    .PHASESTEP(1'b0),
    .PHASELOADREG(1'b0),
    .PLLWAKESYNC(1'b0),
    .ENCLKOP(1'b0)
);

// The core starts some cycles after the PLL has locked, the PHYs and MACs long after it: so no
// frame comes before it can be taken from its first byte
reg [7:0] rst_pipe_reg = 8'hff;
reg [$clog2(PHY_RESET_CYCLES):0] phy_reset_reg = 0;
reg phy_rst_reg = 1'b1;

wire rst = rst_pipe_reg[7];
wire phy_reset_done = phy_reset_reg == PHY_RESET_CYCLES;

always @(posedge clk) begin
    rst_pipe_reg <= {rst_pipe_reg[6:0], !locked};
end

always @(posedge clk25) begin
    if (!locked) begin
        phy_reset_reg <= 0;
    end else if (!phy_reset_done) begin
        phy_reset_reg <= phy_reset_reg + 1'b1;
    end
    phy_rst_reg <= !phy_reset_done;
end

assign phy_rst_n = !phy_rst_reg;
// The PHYs are used as they wake up
assign phy_mdc = 1'b0;

// The map takes 64 KiB of what the serial line can address, again and again
wire [31:0] awaddr, araddr;
wire awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
wire [31:0] wdata, rdata;
wire [3:0] wstrb;
wire [1:0] bresp, rresp;

litex_uart uart_inst (
    .clk(clk),
    .rst(rst),
    .uart_rx(uart_rx),
    .uart_tx(uart_tx),
    .awaddr(awaddr),
    .awvalid(awvalid),
    .awready(awready),
    .wdata(wdata),
    .wstrb(wstrb),
    .wvalid(wvalid),
    .wready(wready),
    .bresp(bresp),
    .bvalid(bvalid),
    .bready(bready),
    .araddr(araddr),
    .arvalid(arvalid),
    .arready(arready),
    .rdata(rdata),
    .rresp(rresp),
    .rvalid(rvalid),
    .rready(rready)
);

wire [127:0] s_tdata, m_tdata;
wire [15:0] s_tkeep, m_tkeep;
wire [1:0] s_tvalid, s_tready, s_tlast, s_tuser;
wire [1:0] m_tvalid, m_tready, m_tlast;
wire pps;

timestamper #(
    .PORTS(2),
    .DATA_WIDTH(64),
    .DROP_WHEN_FULL(1),
    .FIFO_BYTES(FIFO_BYTES),
    .PERIOD_NS(16)
)
core_inst (
    .clk(clk),
    .rst(rst),
    .s_axil_awaddr(awaddr[15:0]),
    .s_axil_awprot(3'd0),
    .s_axil_awvalid(awvalid),
    .s_axil_awready(awready),
    .s_axil_wdata(wdata),
    .s_axil_wstrb(wstrb),
    .s_axil_wvalid(wvalid),
    .s_axil_wready(wready),
    .s_axil_bresp(bresp),
    .s_axil_bvalid(bvalid),
    .s_axil_bready(bready),
    .s_axil_araddr(araddr[15:0]),
    .s_axil_arprot(3'd0),
    .s_axil_arvalid(arvalid),
    .s_axil_arready(arready),
    .s_axil_rdata(rdata),
    .s_axil_rresp(rresp),
    .s_axil_rvalid(rvalid),
    .s_axil_rready(rready),
    .s_axis_tdata(s_tdata),
    .s_axis_tkeep(s_tkeep),
    .s_axis_tvalid(s_tvalid),
    .s_axis_tready(s_tready),
    .s_axis_tlast(s_tlast),
    .s_axis_tuser(s_tuser),
    .m_axis_tdata(m_tdata),
    .m_axis_tkeep(m_tkeep),
    .m_axis_tvalid(m_tvalid),
    .m_axis_tready(m_tready),
    .m_axis_tlast(m_tlast),
    .m_axis_tuser(),
    .pps(pps)
);

// The light changes with every second of the clock
reg led_reg = 1'b0;

assign led_n = led_reg;

always @(posedge clk) begin
    if (pps) begin
        led_reg <= !led_reg;
    end
end

genvar n;
generate

for (n = 0; n < 2; n = n + 1) begin : sockets
    wire rx_clk, rx_rst, rx_valid, rx_last, rx_error;
    wire tx_clk, tx_rst, tx_valid, tx_ready, tx_last;
    wire [7:0] rx_data, tx_data;

    liteeth_port mac_inst (
        .rst(phy_rst_reg),
        .rgmii_rx_clk(rgmii_rx_clk[n]),
        .rgmii_rx_ctl(rgmii_rx_ctl[n]),
        .rgmii_rx_data(rgmii_rx_data[4*n +: 4]),
        .rgmii_tx_clk(rgmii_tx_clk[n]),
        .rgmii_tx_ctl(rgmii_tx_ctl[n]),
        .rgmii_tx_data(rgmii_tx_data[4*n +: 4]),
        .rx_clk(rx_clk),
        .rx_rst(rx_rst),
        .rx_data(rx_data),
        .rx_valid(rx_valid),
        .rx_last(rx_last),
        .rx_error(rx_error),
        .tx_clk(tx_clk),
        .tx_rst(tx_rst),
        .tx_data(tx_data),
        .tx_valid(tx_valid),
        .tx_ready(tx_ready),
        .tx_last(tx_last)
    );

    mac_rx rx_inst (
        .mac_clk(rx_clk),
        .mac_rst(rx_rst),
        .mac_data(rx_data),
        .mac_valid(rx_valid),
        .mac_last(rx_last),
        .mac_error(rx_error),
        .clk(clk),
        .rst(rst),
        .m_axis_tdata(s_tdata[64*n +: 64]),
        .m_axis_tkeep(s_tkeep[8*n +: 8]),
        .m_axis_tvalid(s_tvalid[n]),
        .m_axis_tready(s_tready[n]),
        .m_axis_tlast(s_tlast[n]),
        .m_axis_tuser(s_tuser[n])
    );

    // What the other socket took
    mac_tx tx_inst (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(m_tdata[64*(1-n) +: 64]),
        .s_axis_tkeep(m_tkeep[8*(1-n) +: 8]),
        .s_axis_tvalid(m_tvalid[1-n]),
        .s_axis_tready(m_tready[1-n]),
        .s_axis_tlast(m_tlast[1-n]),
        .mac_clk(tx_clk),
        .mac_rst(tx_rst),
        .mac_data(tx_data),
        .mac_valid(tx_valid),
        .mac_ready(tx_ready),
        .mac_last(tx_last)
    );
end

endgenerate

endmodule

`resetall
