// SPDX-License-Identifier: Apache-2.0
/*
 * A FIFO of beats. Full, it either holds the sender back, or (behind a MAC, which cannot wait)
 * drops the whole frame that does not fit and says so once, in the cycle of its last beat.
 * To be able to take a frame back, a dropping FIFO hands out whole frames only.
 *
 * Whether it is full is a register, which hears one cycle late of what was read: a beat may be
 * refused (or a frame dropped) in the cycle in which the last one but DEPTH leaves. A register
 * stands behind the memory, whose own output is late in the cycle.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frame_fifo #(
    // Width of a beat in bits
    parameter WIDTH = 64,
    // Beats: a power of two; a dropping FIFO must hold the longest frame
    parameter DEPTH = 256,
    // 1: drop a frame that does not fit. 0: hold the sender back
    parameter DROP_WHEN_FULL = 0
)
(
    input  wire              clk,
    input  wire              rst,

    input  wire [WIDTH-1:0]  in_beat,
    input  wire              in_last,
    input  wire              in_valid,
    output wire              in_ready,

    output wire [WIDTH-1:0]  out_beat,
    output wire              out_last,
    output wire              out_valid,
    input  wire              out_ready,

    output wire              dropped
);

localparam ADDRESS_WIDTH = $clog2(DEPTH);

initial begin
    if (DEPTH < 2 || DEPTH != (1 << ADDRESS_WIDTH)) begin
        $display("Error: DEPTH must be a power of two, at least 2 (instance %m)");
        $finish;
    end
end

reg [WIDTH:0] memory[0:DEPTH-1];

// One bit more than the address: full and empty differ
reg [ADDRESS_WIDTH:0] write_reg = 0, write_next;
// What may be read: up to the last whole frame, or to the last beat
reg [ADDRESS_WIDTH:0] commit_reg = 0, commit_next;
reg [ADDRESS_WIDTH:0] read_reg = 0, read_next;
reg dropping_reg = 1'b0, dropping_next;
reg dropped_reg = 1'b0, dropped_next;
reg full_reg = 1'b0, full_next;
// As the memory gives it, and behind that the output
reg [WIDTH:0] fetched_reg = 0;
reg fetched_valid_reg = 1'b0, fetched_valid_next;
reg [WIDTH:0] out_reg = 0;
reg out_valid_reg = 1'b0, out_valid_next;

wire [ADDRESS_WIDTH:0] plus = write_reg + 1'b1;
// DEPTH ahead of what is read, if `write_reg` becomes this: equal but for the highest bit
wire [ADDRESS_WIDTH:0] ahead = read_reg ^ (1 << ADDRESS_WIDTH);
wire full_if_plus = plus == ahead;
wire full_if_commit = commit_reg == ahead;
wire full_if_same = write_reg == ahead;

wire empty = read_reg == commit_reg;
wire advance = !out_valid_reg || out_ready;
wire fetch = !empty && (!fetched_valid_reg || advance);
reg write;

assign in_ready = DROP_WHEN_FULL ? 1'b1 : !full_reg;
assign {out_last, out_beat} = out_reg;
assign out_valid = out_valid_reg;
assign dropped = dropped_reg;

always @* begin
    write = 1'b0;
    write_next = write_reg;
    full_next = full_if_same;
    commit_next = commit_reg;
    dropping_next = dropping_reg;
    dropped_next = 1'b0;

    if (in_valid && in_ready) begin
        if (full_reg || dropping_reg) begin
            write_next = commit_reg;
            full_next = full_if_commit;
            dropping_next = !in_last;
            dropped_next = in_last;
        end else begin
            write = 1'b1;
            write_next = plus;
            full_next = full_if_plus;
            if (in_last || !DROP_WHEN_FULL) begin
                commit_next = plus;
            end
        end
    end
end

always @* begin
    read_next = fetch ? read_reg + 1'b1 : read_reg;
    fetched_valid_next = fetch || (fetched_valid_reg && !advance);
    out_valid_next = advance ? fetched_valid_reg : 1'b1;
end

always @(posedge clk) begin
    if (write) begin
        memory[write_reg[ADDRESS_WIDTH-1:0]] <= {in_last, in_beat};
    end

    if (fetch) begin
        fetched_reg <= memory[read_reg[ADDRESS_WIDTH-1:0]];
    end

    if (advance) begin
        out_reg <= fetched_reg;
    end

    write_reg <= write_next;
    commit_reg <= commit_next;
    read_reg <= read_next;
    dropping_reg <= dropping_next;
    dropped_reg <= dropped_next;
    full_reg <= full_next;
    fetched_valid_reg <= fetched_valid_next;
    out_valid_reg <= out_valid_next;

    if (rst) begin
        write_reg <= 0;
        commit_reg <= 0;
        read_reg <= 0;
        dropping_reg <= 1'b0;
        dropped_reg <= 1'b0;
        full_reg <= 1'b0;
        fetched_valid_reg <= 1'b0;
        out_valid_reg <= 1'b0;
    end
end

endmodule

`resetall
