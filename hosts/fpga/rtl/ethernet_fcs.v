// SPDX-License-Identifier: Apache-2.0
/*
 * The FCS of frames that stream by, one beat per enabled cycle.
 *
 * A CRC is linear: after k bytes it is A^k (state) xor C (bytes), where A advances the state by
 * one byte of zeros and C is the CRC of the bytes from state zero. Zeros in front of the bytes
 * do not change C, so a last beat of k bytes is shifted to the end of the beat and one circuit
 * for C serves every length. Only A^BYTES is in the loop from beat to beat; A^k of the last
 * beat is put together of powers of two, one per stage.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module ethernet_fcs #(
    // Width of the stream in bits: 8 times a power of two
    parameter DATA_WIDTH = 64,
    // Bits of a count of 0 to DATA_WIDTH / 8 bytes
    parameter COUNT_WIDTH = $clog2(DATA_WIDTH / 8) + 1
)
(
    input  wire                    clk,
    input  wire                    rst,
    // The pipeline moves only where this is high
    input  wire                    enable,

    // Byte 0 (the first on the wire) in the low bits
    input  wire [DATA_WIDTH-1:0]   data,
    // Bytes of this beat: all of them unless it is the last
    input  wire [COUNT_WIDTH-1:0]  count,
    input  wire                    valid,
    input  wire                    last,

    // For a last beat, 3 + COUNT_WIDTH enabled cycles later. The first byte on the wire in the
    // low bits
    output wire [31:0]             fcs
);

localparam BYTES = DATA_WIDTH / 8;
localparam STAGES = COUNT_WIDTH;
localparam [31:0] POLYNOMIAL = 32'hedb88320;

initial begin
    if (BYTES < 1 || BYTES != (1 << $clog2(BYTES))) begin
        $display("Error: DATA_WIDTH must be 8 times a power of two (instance %m)");
        $finish;
    end
end

// One bit of zero goes through the shift register
function [31:0] step;
    input [31:0] state;
    step = {1'b0, state[31:1]} ^ (state[0] ? POLYNOMIAL : 32'd0);
endfunction

// The bits of a beat that bit `index` of its CRC is the parity of
function [DATA_WIDTH-1:0] data_mask;
    input integer index;
    reg [31:0] state;
    integer i;
    begin
        state = POLYNOMIAL;
        for (i = DATA_WIDTH - 1; i >= 0; i = i - 1) begin
            data_mask[i] = state[index];
            state = step(state);
        end
    end
endfunction

// The bits of the state that bit `index` is the parity of, after some bytes of zeros. A bit of
// the state acts as the bit of the data that it meets, or is only shifted
function [31:0] advance_mask;
    input integer bytes;
    input integer index;
    reg [31:0] state;
    integer i;
    begin
        for (i = 0; i < 32; i = i + 1) begin
            advance_mask[i] = index == i - 8 * bytes;
        end
        state = POLYNOMIAL;
        for (i = 8 * bytes - 1; i >= 0; i = i - 1) begin
            if (i < 32) begin
                advance_mask[i] = state[index];
            end
            state = step(state);
        end
    end
endfunction

// First stage: the bytes at the end of the beat
reg [DATA_WIDTH-1:0] aligned_reg = {DATA_WIDTH{1'b0}};
reg [COUNT_WIDTH-1:0] count_reg = {COUNT_WIDTH{1'b0}};
reg valid_reg = 1'b0;
reg last_reg = 1'b0;

// Second stage: the CRC of the beat alone
reg [31:0] beat_crc_reg = 32'd0;
reg [COUNT_WIDTH-1:0] beat_count_reg = {COUNT_WIDTH{1'b0}};
reg beat_valid_reg = 1'b0;
reg beat_last_reg = 1'b0;

// Third stage: the state of the frame before the beat that is in the pipeline behind it
reg [31:0] state_reg = 32'hffffffff;

wire [31:0] crc;
wire [31:0] advanced;

genvar i, n;
generate

for (i = 0; i < 32; i = i + 1) begin : bits
    localparam [DATA_WIDTH-1:0] DATA_MASK = data_mask(i);
    localparam [31:0] ADVANCE_MASK = advance_mask(BYTES, i);
    assign crc[i] = ^(aligned_reg & DATA_MASK);
    assign advanced[i] = ^(state_reg & ADVANCE_MASK);
end

endgenerate

always @(posedge clk) begin
    if (enable) begin
        aligned_reg <= data << (8 * (BYTES - count));
        count_reg <= count;
        valid_reg <= valid;
        last_reg <= last;

        beat_crc_reg <= crc;
        beat_count_reg <= count_reg;
        beat_valid_reg <= valid_reg;
        beat_last_reg <= last_reg;

        if (beat_valid_reg) begin
            state_reg <= beat_last_reg ? 32'hffffffff : advanced ^ beat_crc_reg;
        end
    end

    if (rst) begin
        valid_reg <= 1'b0;
        beat_valid_reg <= 1'b0;
        state_reg <= 32'hffffffff;
    end
end

// The last beat goes on by itself: its state advanced by a power of two per stage
wire [31:0] stage_state[0:STAGES];
wire [31:0] stage_crc[0:STAGES];
wire [STAGES-1:0] stage_count[0:STAGES];

reg [31:0] first_state_reg = 32'd0;
reg [31:0] first_crc_reg = 32'd0;
reg [STAGES-1:0] first_count_reg = {STAGES{1'b0}};

always @(posedge clk) begin
    if (enable) begin
        first_state_reg <= state_reg;
        first_crc_reg <= beat_crc_reg;
        first_count_reg <= beat_count_reg;
    end
end

assign stage_state[0] = first_state_reg;
assign stage_crc[0] = first_crc_reg;
assign stage_count[0] = first_count_reg;

generate

for (n = 0; n < STAGES; n = n + 1) begin : powers
    wire [31:0] advanced;
    reg [31:0] state_pipe_reg = 32'd0;
    reg [31:0] crc_pipe_reg = 32'd0;
    reg [STAGES-1:0] count_pipe_reg = {STAGES{1'b0}};

    for (i = 0; i < 32; i = i + 1) begin : bits
        localparam [31:0] POWER_MASK = advance_mask(1 << n, i);
        assign advanced[i] = ^(stage_state[n] & POWER_MASK);
    end

    always @(posedge clk) begin
        if (enable) begin
            state_pipe_reg <= stage_count[n][n] ? advanced : stage_state[n];
            crc_pipe_reg <= stage_crc[n];
            count_pipe_reg <= stage_count[n];
        end
    end

    assign stage_state[n+1] = state_pipe_reg;
    assign stage_crc[n+1] = crc_pipe_reg;
    assign stage_count[n+1] = count_pipe_reg;
end

endgenerate

assign fcs = ~(stage_state[STAGES] ^ stage_crc[STAGES]);

endmodule

`resetall
