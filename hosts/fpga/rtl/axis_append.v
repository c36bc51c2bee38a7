// SPDX-License-Identifier: Apache-2.0
/*
 * Appends bytes to each frame of an AXI4-Stream. They are given with the last beat; what does
 * not fit behind the frame's own last bytes goes out in beats of its own, and the input waits.
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module axis_append #(
    // Width of the stream in bits
    parameter DATA_WIDTH = 64,
    parameter KEEP_WIDTH = DATA_WIDTH / 8,
    parameter USER_WIDTH = 1,
    // Bytes to append
    parameter TAIL_BYTES = 16
)
(
    input  wire                       clk,
    input  wire                       rst,

    input  wire [DATA_WIDTH-1:0]      s_axis_tdata,
    // Bytes of this beat, 1 to KEEP_WIDTH: all of them unless it is the last
    input  wire [$clog2(KEEP_WIDTH):0] s_axis_tcount,
    input  wire                       s_axis_tvalid,
    output wire                       s_axis_tready,
    input  wire                       s_axis_tlast,
    input  wire [USER_WIDTH-1:0]      s_axis_tuser,
    // Sampled with the last beat; byte 0 in the low bits
    input  wire [8*TAIL_BYTES-1:0]    s_axis_tail,

    output wire [DATA_WIDTH-1:0]      m_axis_tdata,
    output wire [KEEP_WIDTH-1:0]      m_axis_tkeep,
    output wire                       m_axis_tvalid,
    input  wire                       m_axis_tready,
    output wire                       m_axis_tlast,
    output wire [USER_WIDTH-1:0]      m_axis_tuser
);

localparam TAIL_WIDTH = 8 * TAIL_BYTES;
localparam LEFT_WIDTH = $clog2(KEEP_WIDTH + TAIL_BYTES + 1);

initial begin
    if (KEEP_WIDTH * 8 != DATA_WIDTH) begin
        $display("Error: DATA_WIDTH must be whole bytes (instance %m)");
        $finish;
    end
end

// First stage: the beat with the tail behind it. Bytes beyond the frame's own are cleared first
wire [DATA_WIDTH-1:0] own = s_axis_tdata & ~({DATA_WIDTH{1'b1}} << (8 * s_axis_tcount));
wire [LEFT_WIDTH-1:0] total = s_axis_tcount + TAIL_BYTES;

reg [DATA_WIDTH+TAIL_WIDTH-1:0] joined_reg = {DATA_WIDTH+TAIL_WIDTH{1'b0}};
reg [LEFT_WIDTH-1:0] total_reg = {LEFT_WIDTH{1'b0}};
reg valid_reg = 1'b0;
reg last_reg = 1'b0;
reg [USER_WIDTH-1:0] user_reg = {USER_WIDTH{1'b0}};

// Second stage: what is still to go out of the tail, and how many bytes of it
reg [TAIL_WIDTH-1:0] tail_reg = {TAIL_WIDTH{1'b0}}, tail_next;
reg [LEFT_WIDTH-1:0] left_reg = {LEFT_WIDTH{1'b0}}, left_next;
// None: the input flows
reg flowing_reg = 1'b1;

reg [DATA_WIDTH-1:0] tdata_reg = {DATA_WIDTH{1'b0}}, tdata_next;
reg [KEEP_WIDTH-1:0] tkeep_reg = {KEEP_WIDTH{1'b0}}, tkeep_next;
reg tvalid_reg = 1'b0, tvalid_next;
reg tlast_reg = 1'b0, tlast_next;
reg [USER_WIDTH-1:0] tuser_reg = {USER_WIDTH{1'b0}}, tuser_next;

// Behind it: a beat that was on its way when the output was stopped. So whether the stages move
// depends on registers alone, not on m_axis_tready
reg [DATA_WIDTH-1:0] spare_tdata_reg = {DATA_WIDTH{1'b0}};
reg [KEEP_WIDTH-1:0] spare_tkeep_reg = {KEEP_WIDTH{1'b0}};
reg spare_reg = 1'b0;
reg spare_tlast_reg = 1'b0;
reg [USER_WIDTH-1:0] spare_tuser_reg = {USER_WIDTH{1'b0}};

reg [DATA_WIDTH-1:0] out_tdata_reg = {DATA_WIDTH{1'b0}};
reg [KEEP_WIDTH-1:0] out_tkeep_reg = {KEEP_WIDTH{1'b0}};
reg out_tvalid_reg = 1'b0;
reg out_tlast_reg = 1'b0;
reg [USER_WIDTH-1:0] out_tuser_reg = {USER_WIDTH{1'b0}};

// The register of the second stage is free
wire move = !tvalid_reg || !spare_reg;
wire out_move = !out_tvalid_reg || m_axis_tready;
wire [LEFT_WIDTH-1:0] bytes = flowing_reg ? total_reg : left_reg;
// The beat that is made now ends the frame
wire ends = bytes <= KEEP_WIDTH;

assign s_axis_tready = !valid_reg || (move && flowing_reg);

assign m_axis_tdata = out_tdata_reg;
assign m_axis_tkeep = out_tkeep_reg;
assign m_axis_tvalid = out_tvalid_reg;
assign m_axis_tlast = out_tlast_reg;
assign m_axis_tuser = out_tuser_reg;

always @* begin
    tail_next = tail_reg;
    left_next = left_reg;
    tdata_next = tdata_reg;
    tkeep_next = tkeep_reg;
    tvalid_next = tvalid_reg;
    tlast_next = tlast_reg;
    tuser_next = tuser_reg;

    if (move) begin
        {tail_next, tdata_next} = flowing_reg ? joined_reg : {{DATA_WIDTH{1'b0}}, tail_reg};
        tkeep_next = {KEEP_WIDTH{1'b1}};
        tvalid_next = valid_reg || !flowing_reg;
        tlast_next = 1'b0;

        if (flowing_reg) begin
            tuser_next = user_reg;
        end

        if (!flowing_reg || (valid_reg && last_reg)) begin
            tlast_next = ends;
            tkeep_next = ends ? ~({KEEP_WIDTH{1'b1}} << bytes) : {KEEP_WIDTH{1'b1}};
            left_next = ends ? {LEFT_WIDTH{1'b0}} : bytes - KEEP_WIDTH;
        end
    end
end

always @(posedge clk) begin
    if (s_axis_tready) begin
        joined_reg <= {{TAIL_WIDTH{1'b0}}, own}
            | ({{DATA_WIDTH{1'b0}}, s_axis_tail} << (8 * s_axis_tcount));
        total_reg <= total;
        valid_reg <= s_axis_tvalid;
        last_reg <= s_axis_tlast;
        user_reg <= s_axis_tuser;
    end

    tail_reg <= tail_next;
    left_reg <= left_next;
    flowing_reg <= left_next == 0;
    tdata_reg <= tdata_next;
    tkeep_reg <= tkeep_next;
    tvalid_reg <= tvalid_next;
    tlast_reg <= tlast_next;
    tuser_reg <= tuser_next;

    if (out_move) begin
        out_tdata_reg <= spare_reg ? spare_tdata_reg : tdata_reg;
        out_tkeep_reg <= spare_reg ? spare_tkeep_reg : tkeep_reg;
        out_tlast_reg <= spare_reg ? spare_tlast_reg : tlast_reg;
        out_tuser_reg <= spare_reg ? spare_tuser_reg : tuser_reg;
        out_tvalid_reg <= spare_reg || tvalid_reg;
        spare_reg <= 1'b0;
    end else if (!spare_reg) begin
        spare_tdata_reg <= tdata_reg;
        spare_tkeep_reg <= tkeep_reg;
        spare_tlast_reg <= tlast_reg;
        spare_tuser_reg <= tuser_reg;
        spare_reg <= tvalid_reg;
    end

    if (rst) begin
        left_reg <= {LEFT_WIDTH{1'b0}};
        flowing_reg <= 1'b1;
        valid_reg <= 1'b0;
        tvalid_reg <= 1'b0;
        spare_reg <= 1'b0;
        out_tvalid_reg <= 1'b0;
    end
end

endmodule

`resetall
