/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary records: the single source of their layouts. The field lists make the C structures,
 * the description printed by --layouts and the golden bytes. README.md explains the fields.
 */
#ifndef FLOWS_RECORDS_H
#define FLOWS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#define FLOW_SAMPLES_FILE "flow_samples.bin"
#define GOODPUT_FILE "goodput.bin"

/* FIELD(C type, short type, name) */
#define FLOW_SAMPLE_FIELDS(FIELD)                                                                  \
	FIELD(int64_t, i64, t_ns)                                                                  \
	FIELD(uint32_t, u32, flow)                                                                 \
	FIELD(uint8_t, u8, ca_state)                                                               \
	FIELD(uint8_t, u8, app_limited)                                                            \
	FIELD(uint8_t, u8, has_bbr)                                                                \
	FIELD(uint8_t, u8, backoff)                                                                \
	FIELD(uint32_t, u32, cwnd_pkts)                                                            \
	FIELD(uint32_t, u32, ssthresh_pkts)                                                        \
	FIELD(uint32_t, u32, mss)                                                                  \
	FIELD(uint32_t, u32, srtt_us)                                                              \
	FIELD(uint32_t, u32, rttvar_us)                                                            \
	FIELD(uint32_t, u32, min_rtt_us)                                                           \
	FIELD(uint32_t, u32, unacked)                                                              \
	FIELD(uint32_t, u32, sacked)                                                               \
	FIELD(uint32_t, u32, lost)                                                                 \
	FIELD(uint32_t, u32, retrans)                                                              \
	FIELD(uint32_t, u32, total_retrans)                                                        \
	FIELD(uint32_t, u32, reordering)                                                           \
	FIELD(uint32_t, u32, delivered_pkts)                                                       \
	FIELD(uint32_t, u32, delivered_ce)                                                         \
	FIELD(uint32_t, u32, notsent_bytes)                                                        \
	FIELD(uint32_t, u32, inflight_bytes)                                                       \
	FIELD(uint64_t, u64, bytes_acked)                                                          \
	FIELD(uint64_t, u64, bytes_sent)                                                           \
	FIELD(uint64_t, u64, bytes_retrans)                                                        \
	FIELD(uint64_t, u64, delivery_rate_bps)                                                    \
	FIELD(uint64_t, u64, pacing_rate_bps)                                                      \
	FIELD(uint64_t, u64, bbr_bw_bps)                                                           \
	FIELD(uint32_t, u32, bbr_min_rtt_us)                                                       \
	FIELD(uint32_t, u32, bbr_pacing_gain)                                                      \
	FIELD(uint32_t, u32, bbr_cwnd_gain)                                                        \
	FIELD(uint32_t, u32, snd_wnd_bytes)                                                        \
	FIELD(uint32_t, u32, rto_us)                                                               \
	FIELD(uint32_t, u32, tick)                                                                 \
	FIELD(uint64_t, u64, busy_time_us)                                                         \
	FIELD(uint64_t, u64, rwnd_limited_us)                                                      \
	FIELD(uint64_t, u64, sndbuf_limited_us)

#define GOODPUT_FIELDS(FIELD)                                                                      \
	FIELD(int64_t, i64, t_ns)                                                                  \
	FIELD(uint32_t, u32, flow)                                                                 \
	FIELD(uint32_t, u32, pad)                                                                  \
	FIELD(uint64_t, u64, bytes)

#define RECORD_MEMBER(ctype, type, name) ctype name;
#define RECORD_MEMBER_SIZE(ctype, type, name) +sizeof(ctype)

struct flow_sample {
	FLOW_SAMPLE_FIELDS(RECORD_MEMBER)
};

struct goodput_record {
	GOODPUT_FIELDS(RECORD_MEMBER)
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are little-endian");
_Static_assert(sizeof(struct flow_sample) == 176, "flow_samples.bin layout");
_Static_assert(sizeof(struct goodput_record) == 24, "goodput.bin layout");
_Static_assert(0 FLOW_SAMPLE_FIELDS(RECORD_MEMBER_SIZE) == sizeof(struct flow_sample), "padding");
_Static_assert(0 GOODPUT_FIELDS(RECORD_MEMBER_SIZE) == sizeof(struct goodput_record), "padding");

#undef RECORD_MEMBER
#undef RECORD_MEMBER_SIZE

#endif
