// SPDX-License-Identifier: Apache-2.0
/*
 * One port: each frame of an AXI4-Stream gets the time at which its first beat was taken, in a
 * 16-byte trailer behind its last byte:
 *
 *   original FCS 4 (as on the wire) | device 1 | port 1 | seconds 4 | fraction 5 (2^-40 s) | marks 1
 *
 * Frames come without FCS, as a MAC hands them over, and a MAC behind the port adds the new one.
 * The original FCS is computed from the frame. A frame that came with an error (tuser of its
 * last beat) carries the complement of it, as a switch stomps it, and mark 0; a frame shorter
 * than 60 bytes carries mark 1.
 *
 *   s_axis -> time of the first beat -> frame_fifo -> ethernet_fcs | second_fraction -> axis_append
 */

`resetall
`timescale 1ns / 1ps
`default_nettype none

module timestamp_port #(
    // Width of the stream in bits: 64 or 512
    parameter DATA_WIDTH = 64,
    parameter KEEP_WIDTH = DATA_WIDTH / 8,
    // What the trailer says about where this is
    parameter DEVICE = 0,
    parameter PORT = 0,
    // 1: behind a MAC that cannot wait; a frame that does not fit is dropped and counted
    parameter DROP_WHEN_FULL = 0,
    // Bytes that the FIFO holds; with DROP_WHEN_FULL at least the longest frame
    parameter FIFO_BYTES = 16384
)
(
    input  wire                   clk,
    input  wire                   rst,

    // The time of this cycle
    input  wire [31:0]            ts_s,
    input  wire [29:0]            ts_ns,
    input  wire [15:0]            ts_fns,

    input  wire [DATA_WIDTH-1:0]  s_axis_tdata,
    input  wire [KEEP_WIDTH-1:0]  s_axis_tkeep,
    input  wire                   s_axis_tvalid,
    output wire                   s_axis_tready,
    input  wire                   s_axis_tlast,
    input  wire                   s_axis_tuser,

    output wire [DATA_WIDTH-1:0]  m_axis_tdata,
    output wire [KEEP_WIDTH-1:0]  m_axis_tkeep,
    output wire                   m_axis_tvalid,
    input  wire                   m_axis_tready,
    output wire                   m_axis_tlast,
    output wire                   m_axis_tuser,

    // They wrap. Frames in = frames + dropped + what is inside
    output wire [31:0]            frames,
    output wire [31:0]            dropped,
    // Of the frames that left, those with mark 0 and with mark 1
    output wire [31:0]            errors,
    output wire [31:0]            runts
);

localparam COUNT_WIDTH = $clog2(KEEP_WIDTH) + 1;
// Of ethernet_fcs; second_fraction is ready earlier
localparam LATENCY = 3 + COUNT_WIDTH;
localparam FRACTION_LATENCY = 6;
localparam MIN_BYTES = 60;
localparam STAMP_WIDTH = 32 + 30 + 16;
localparam BEAT_WIDTH = STAMP_WIDTH + 1 + COUNT_WIDTH + DATA_WIDTH;
localparam MARK_ERROR = 0;
localparam MARK_RUNT = 1;

initial begin
    if (KEEP_WIDTH * 8 != DATA_WIDTH || (DATA_WIDTH != 64 && DATA_WIDTH != 512)) begin
        $display("Error: DATA_WIDTH must be 64 or 512 (instance %m)");
        $finish;
    end
    if (DEVICE < 0 || DEVICE > 255 || PORT < 0 || PORT > 255) begin
        $display("Error: DEVICE and PORT are bytes (instance %m)");
        $finish;
    end
end

// Bytes of a beat: the position of the first keep bit that is not set
function [COUNT_WIDTH-1:0] kept;
    input [KEEP_WIDTH-1:0] keep;
    integer i;
    begin
        kept = KEEP_WIDTH;
        for (i = KEEP_WIDTH - 1; i >= 0; i = i - 1) begin
            if (!keep[i]) begin
                kept = i;
            end
        end
    end
endfunction

// The stamp: the clock in the cycle that takes the first beat, held to the end of the frame
reg first_reg = 1'b1;
reg [STAMP_WIDTH-1:0] stamp_reg = {STAMP_WIDTH{1'b0}};

wire [STAMP_WIDTH-1:0] stamp = first_reg ? {ts_s, ts_ns, ts_fns} : stamp_reg;

always @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready) begin
        first_reg <= s_axis_tlast;
        stamp_reg <= stamp;
    end

    if (rst) begin
        first_reg <= 1'b1;
    end
end

wire [STAMP_WIDTH-1:0] beat_stamp;
wire beat_error;
wire [COUNT_WIDTH-1:0] beat_count;
wire [DATA_WIDTH-1:0] beat_data;
wire beat_last;
wire beat_valid;
wire fifo_dropped;
// The pipeline behind the FIFO moves as a whole
wire move;

frame_fifo #(
    .WIDTH(BEAT_WIDTH),
    .DEPTH(FIFO_BYTES / KEEP_WIDTH),
    .DROP_WHEN_FULL(DROP_WHEN_FULL)
)
fifo_inst (
    .clk(clk),
    .rst(rst),
    .in_beat({stamp, s_axis_tuser, kept(s_axis_tkeep), s_axis_tdata}),
    .in_last(s_axis_tlast),
    .in_valid(s_axis_tvalid),
    .in_ready(s_axis_tready),
    .out_beat({beat_stamp, beat_error, beat_count, beat_data}),
    .out_last(beat_last),
    .out_valid(beat_valid),
    .out_ready(move),
    .dropped(fifo_dropped)
);

wire [31:0] fcs;
wire [39:0] fraction;

ethernet_fcs #(
    .DATA_WIDTH(DATA_WIDTH)
)
fcs_inst (
    .clk(clk),
    .rst(rst),
    .enable(move),
    .data(beat_data),
    .count(beat_count),
    .valid(beat_valid),
    .last(beat_last),
    .fcs(fcs)
);

second_fraction fraction_inst (
    .clk(clk),
    .enable(move),
    .ns(beat_stamp[45:16]),
    .fns(beat_stamp[15:0]),
    .fraction(fraction)
);

// Bytes of the frame up to this beat, no further than matters
reg [6:0] length_reg = 7'd0;

wire [6:0] sum = length_reg + beat_count;
wire [6:0] length = sum >= MIN_BYTES ? MIN_BYTES : sum;

always @(posedge clk) begin
    if (beat_valid && move) begin
        length_reg <= beat_last ? 7'd0 : length;
    end

    if (rst) begin
        length_reg <= 7'd0;
    end
end

// Everything else waits for the FCS
reg [DATA_WIDTH-1:0] data_pipe_reg[0:LATENCY-1];
reg [COUNT_WIDTH-1:0] count_pipe_reg[0:LATENCY-1];
reg [31:0] seconds_pipe_reg[0:LATENCY-1];
reg [39:0] fraction_pipe_reg[FRACTION_LATENCY:LATENCY-1];
reg [LATENCY-1:0] valid_pipe_reg = {LATENCY{1'b0}};
reg [LATENCY-1:0] last_pipe_reg = {LATENCY{1'b0}};
reg [LATENCY-1:0] error_pipe_reg = {LATENCY{1'b0}};
reg [LATENCY-1:0] runt_pipe_reg = {LATENCY{1'b0}};

integer i;

always @(posedge clk) begin
    if (move) begin
        data_pipe_reg[0] <= beat_data;
        count_pipe_reg[0] <= beat_count;
        seconds_pipe_reg[0] <= beat_stamp[STAMP_WIDTH-1 -: 32];
        for (i = 1; i < LATENCY; i = i + 1) begin
            data_pipe_reg[i] <= data_pipe_reg[i-1];
            count_pipe_reg[i] <= count_pipe_reg[i-1];
            seconds_pipe_reg[i] <= seconds_pipe_reg[i-1];
        end

        fraction_pipe_reg[FRACTION_LATENCY] <= fraction;
        for (i = FRACTION_LATENCY + 1; i < LATENCY; i = i + 1) begin
            fraction_pipe_reg[i] <= fraction_pipe_reg[i-1];
        end

        valid_pipe_reg <= {valid_pipe_reg[LATENCY-2:0], beat_valid};
        last_pipe_reg <= {last_pipe_reg[LATENCY-2:0], beat_last};
        error_pipe_reg <= {error_pipe_reg[LATENCY-2:0], beat_error && beat_last};
        runt_pipe_reg <= {runt_pipe_reg[LATENCY-2:0], length < MIN_BYTES};
    end

    if (rst) begin
        valid_pipe_reg <= {LATENCY{1'b0}};
    end
end

wire error = error_pipe_reg[LATENCY-1];
wire runt = runt_pipe_reg[LATENCY-1];
wire [31:0] seconds = seconds_pipe_reg[LATENCY-1];
wire [39:0] part = fraction_pipe_reg[LATENCY-1];
wire [7:0] marks = ({7'd0, error} << MARK_ERROR) | ({7'd0, runt} << MARK_RUNT);
wire [7:0] device = DEVICE;
wire [7:0] port = PORT;

// As on the wire, first byte in the low bits: numbers are big-endian
wire [127:0] trailer = {
    marks,
    part[7:0], part[15:8], part[23:16], part[31:24], part[39:32],
    seconds[7:0], seconds[15:8], seconds[23:16], seconds[31:24],
    port,
    device,
    error ? ~fcs : fcs
};

wire [1:0] m_axis_tmarks;

axis_append #(
    .DATA_WIDTH(DATA_WIDTH),
    .USER_WIDTH(2),
    .TAIL_BYTES(16)
)
append_inst (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(data_pipe_reg[LATENCY-1]),
    .s_axis_tcount(count_pipe_reg[LATENCY-1]),
    .s_axis_tvalid(valid_pipe_reg[LATENCY-1]),
    .s_axis_tready(move),
    .s_axis_tlast(last_pipe_reg[LATENCY-1]),
    .s_axis_tuser({runt, error}),
    .s_axis_tail(trailer),
    .m_axis_tdata(m_axis_tdata),
    .m_axis_tkeep(m_axis_tkeep),
    .m_axis_tvalid(m_axis_tvalid),
    .m_axis_tready(m_axis_tready),
    .m_axis_tlast(m_axis_tlast),
    .m_axis_tuser(m_axis_tmarks)
);

assign m_axis_tuser = m_axis_tmarks[MARK_ERROR];

reg [31:0] frames_reg = 32'd0;
reg [31:0] dropped_reg = 32'd0;
reg [31:0] errors_reg = 32'd0;
reg [31:0] runts_reg = 32'd0;

// A frame left in the cycle before, with its marks
reg left_reg = 1'b0;
reg [1:0] left_marks_reg = 2'd0;

assign frames = frames_reg;
assign dropped = dropped_reg;
assign errors = errors_reg;
assign runts = runts_reg;

always @(posedge clk) begin
    left_reg <= m_axis_tvalid && m_axis_tready && m_axis_tlast;
    left_marks_reg <= m_axis_tmarks;
    frames_reg <= frames_reg + {31'd0, left_reg};
    dropped_reg <= dropped_reg + {31'd0, fifo_dropped};
    errors_reg <= errors_reg + {31'd0, left_reg && left_marks_reg[MARK_ERROR]};
    runts_reg <= runts_reg + {31'd0, left_reg && left_marks_reg[MARK_RUNT]};

    if (rst) begin
        left_reg <= 1'b0;
        frames_reg <= 32'd0;
        dropped_reg <= 32'd0;
        errors_reg <= 32'd0;
        runts_reg <= 32'd0;
    end
end

endmodule

`resetall
