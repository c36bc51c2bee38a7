// SPDX-License-Identifier: Apache-2.0
/*
 * A FIFO of AXI4-Stream beats from one clock to another: each side sees the other's pointer in
 * Gray code, two flip-flops late. A beat is offered in the fourth cycle of m_clk after the edge
 * of s_clk that took it, or as soon as those before it have left.
 *
 * Both resets must be high at the same time once, and then stay low.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module clock_crossing #(
    // Width of a beat in bits
    parameter WIDTH = 64,
    // Beats: a power of two, at least 4
    parameter DEPTH = 16
)
(
    input  wire              s_clk,
    input  wire              s_rst,
    input  wire [WIDTH-1:0]  s_beat,
    input  wire              s_valid,
    output wire              s_ready,

    input  wire              m_clk,
    input  wire              m_rst,
    output wire [WIDTH-1:0]  m_beat,
    output wire              m_valid,
    input  wire              m_ready
);

localparam ADDRESS_WIDTH = $clog2(DEPTH);
// The Gray codes of two pointers that are DEPTH apart differ in their two highest bits
localparam [ADDRESS_WIDTH:0] APART = 3 << (ADDRESS_WIDTH - 1);

initial begin
    if (DEPTH < 4 || DEPTH != (1 << ADDRESS_WIDTH)) begin
        $display("Error: DEPTH must be a power of two, at least 4 (instance %m)");
        $finish;
    end
end

reg [WIDTH-1:0] memory[0:DEPTH-1];

// One bit more than the address: full and empty differ
reg [ADDRESS_WIDTH:0] write_reg = 0;
reg [ADDRESS_WIDTH:0] write_gray_reg = 0;
reg [ADDRESS_WIDTH:0] read_reg = 0;
reg [ADDRESS_WIDTH:0] read_gray_reg = 0;

// Each pointer as the other side sees it
reg [ADDRESS_WIDTH:0] write_seen_reg[0:1];
reg [ADDRESS_WIDTH:0] read_seen_reg[0:1];

reg [WIDTH-1:0] out_reg = 0;
reg out_valid_reg = 1'b0;

wire [ADDRESS_WIDTH:0] write_plus = write_reg + 1'b1;
wire [ADDRESS_WIDTH:0] read_plus = read_reg + 1'b1;
wire write = s_valid && s_ready;
wire read = read_gray_reg != write_seen_reg[1] && (!out_valid_reg || m_ready);

assign s_ready = write_gray_reg != (read_seen_reg[1] ^ APART);
assign m_beat = out_reg;
assign m_valid = out_valid_reg;

initial begin
    write_seen_reg[0] = 0;
    write_seen_reg[1] = 0;
    read_seen_reg[0] = 0;
    read_seen_reg[1] = 0;
end

always @(posedge s_clk) begin
    if (write) begin
        memory[write_reg[ADDRESS_WIDTH-1:0]] <= s_beat;
        write_reg <= write_plus;
        write_gray_reg <= write_plus ^ (write_plus >> 1);
    end

    read_seen_reg[0] <= read_gray_reg;
    read_seen_reg[1] <= read_seen_reg[0];

    if (s_rst) begin
        write_reg <= 0;
        write_gray_reg <= 0;
        read_seen_reg[0] <= 0;
        read_seen_reg[1] <= 0;
    end
end

always @(posedge m_clk) begin
    if (read) begin
        out_reg <= memory[read_reg[ADDRESS_WIDTH-1:0]];
        read_reg <= read_plus;
        read_gray_reg <= read_plus ^ (read_plus >> 1);
    end
    out_valid_reg <= read || (out_valid_reg && !m_ready);

    write_seen_reg[0] <= write_gray_reg;
    write_seen_reg[1] <= write_seen_reg[0];

    if (m_rst) begin
        read_reg <= 0;
        read_gray_reg <= 0;
        write_seen_reg[0] <= 0;
        write_seen_reg[1] <= 0;
        out_valid_reg <= 1'b0;
    end
end

endmodule

`resetall
