/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The kernel's types and constants that a congestion control sees where there are no kernel headers: in
 * eBPF and in the simulator. Names and meaning are the kernel's; only the members that are used are
 * declared. CC_KERNEL_TYPES_BEGIN and _END stand around what the loader of eBPF looks up in the
 * running kernel.
 */
#ifndef NASHBED_CC_TYPES_H
#define NASHBED_CC_TYPES_H

CC_KERNEL_TYPES_BEGIN
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered, delivered_ce;
	long interval_us, rtt_us;
	s32 losses;
	u32 acked_sacked, prior_in_flight;
	bool is_app_limited, is_retrans, is_ack_delayed;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};
CC_KERNEL_TYPES_END

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
enum tcp_ca_state {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define U32_MAX 0xffffffffu
#define USEC_PER_SEC 1000000UL
#define USEC_PER_MSEC 1000UL

/* In eBPF matched with the kernel's by the members' names. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(t, a, b) ((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b) ((t)(a) > (t)(b) ? (t)(a) : (t)(b))

#endif
