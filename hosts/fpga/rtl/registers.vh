// SPDX-License-Identifier: Apache-2.0
// The register map: the only place of it. Software reads this file (tests/rtl/registers.py).
// 32-bit words at byte addresses; counters wrap.

`define REG_TYPE        16'h0000  // read: "NBTS"
`define REG_VERSION     16'h0004  // read: major 16, minor 16
`define REG_SHAPE       16'h0008  // read: ports 16, data width in bits 16
// The clock's time: reading NOW_NS takes a snapshot, whose other words are read after it
`define REG_NOW_NS      16'h0010
`define REG_NOW_FNS     16'h0014  // 2^-32 ns
`define REG_NOW_S       16'h0018
`define REG_NOW_S_HIGH  16'h001c
// Step: writing SET_S_HIGH sets the clock to all four
`define REG_SET_NS      16'h0020
`define REG_SET_FNS     16'h0024
`define REG_SET_S       16'h0028
`define REG_SET_S_HIGH  16'h002c
// Steer: writing PERIOD_NS makes both the period
`define REG_PERIOD_FNS  16'h0030  // 2^-32 ns
`define REG_PERIOD_NS   16'h0034
// What the pipelines take, in cycles of the clock:
//   transit 8: a first beat from its stamp to where it leaves, where nothing waits
//   step 8: a step or a new period from the write to the first time that shows it
//   stamp 8: a stamp is the clock's time in the cycle so many before the first beat was taken
`define REG_LATENCY     16'h0038  // read: 0 8, transit 8, step 8, stamp 8
// Counters: of port p at PORTS + p * PORT_STRIDE
`define REG_PORTS       16'h0100
`define PORT_STRIDE     16'h0010
`define PORT_FRAMES     16'h0000
`define PORT_DROPPED    16'h0004
`define PORT_ERRORS     16'h0008
`define PORT_RUNTS      16'h000c

`define TYPE_WORD       32'h4e425453
`define VERSION_WORD    32'h00010001
