/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cc.h for an eBPF struct_ops object.
 *
 * The kernel's types are declared here with the few members that are used; the loader finds them in
 * the running kernel's BTF by name (CO-RE), so neither vmlinux.h nor bpftool is needed.
 */
#ifndef NASHBED_CC_BPF_H
#define NASHBED_CC_BPF_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#ifndef NULL
#define NULL ((void *)0)
#endif
#define offsetof(type, member) __builtin_offsetof(type, member)

enum {
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

struct bpf_sock;
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock {
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u8 sk_pacing_shift;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache, snd_cwnd, snd_cwnd_clamp, snd_ssthresh, prior_cwnd;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 delivered, delivered_ce, lost, app_limited, srtt_us, data_segs_out;
	u32 snd_nxt, snd_una, write_seq, rcv_nxt;
	u64 tcp_mstamp, delivered_mstamp, tcp_wstamp_ns, tcp_clock_cache;
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
};

#pragma clang attribute pop

#define CC_KERNEL_TYPES_BEGIN                                                                      \
	_Pragma("clang attribute push(__attribute__((preserve_access_index)), apply_to = record)")
#define CC_KERNEL_TYPES_END _Pragma("clang attribute pop")
#include "cc_types.h"

enum {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
	SK_PACING_FQ = 2
};
#define TCP_ECN_MODE_RFC3168 1
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_MODE_ACCECN 16 /* from 6.18; nothing before */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

#define CC_INLINE static __attribute__((always_inline)) inline
/* A function of numbers only, which the verifier checks once and not at each call. */
#define CC_MATH __attribute__((noinline))

#include "cc_told.h"

#define CC_STATE(state_t)                                                                          \
	_Static_assert(offsetof(state_t, told) == 0, "struct cc_told comes first");                \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                             \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, state_t);                                                            \
	} cc_states SEC(".maps");                                                                  \
	CC_INLINE state_t *cc_state(struct sock *sk)                                               \
	{                                                                                          \
		return bpf_sk_storage_get(&cc_states, sk, 0, 0);                                   \
	}                                                                                          \
	CC_INLINE state_t *cc_state_new(struct sock *sk)                                           \
	{                                                                                          \
		bpf_sk_storage_delete(&cc_states, sk);                                             \
		return bpf_sk_storage_get(&cc_states, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);      \
	}

#define CC_OP(ret, name, ...)                                                                      \
	SEC("struct_ops")                                                                          \
	ret BPF_PROG(name, ##__VA_ARGS__)
#define CC_MAIN(name, sk, rs)                                                                      \
	CC_OP(void, name, struct sock *sk, u32 cc_ack, int cc_flag, const struct rate_sample *rs)

/* The value, read here and nowhere else: of reads through two kinds of pointer in two branches the
 * compiler may make one, and the verifier refuses that ("same insn cannot be used with different
 * pointers").
 */
#define cc_keep(x)                                                                                 \
	({                                                                                         \
		typeof(x) cc_kept = (x);                                                           \
		asm volatile("" : "+r"(cc_kept));                                                  \
		cc_kept;                                                                           \
	})
#define cc_tcp(sk) ((struct tcp_sock *)(sk))
#define cc_random() bpf_get_prandom_u32()
#define cc_div(a, b) ((u64)(a) / (u64)(b))

/* eBPF before version 4 divides without a sign. */
CC_INLINE s64
cc_sdiv(s64 a, u64 b)
{
	return a < 0 ? -(s64)((u64)-a / b) : (s64)((u64)a / b);
}

#define cc_is_cwnd_limited(tp) (!!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
#define cc_ca_state(sk)                                                                            \
	((u8)BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)(sk), icsk_ca_state))

CC_INLINE void
cc_need_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* The kernel lets eBPF neither write the shift nor choose what is in the IP header. */
#define cc_set_pacing_shift(sk, shift) ((void)(sk))
#define cc_send_ect1(sk) ((void)(sk))
#define cc_rcv_nxt(sk) (cc_tcp(sk)->rcv_nxt)
#define cc_send_ack(sk, rcv_nxt) bpf_tcp_send_ack(sk, rcv_nxt)

CC_INLINE bool
cc_has_ecn(struct sock *sk)
{
	return cc_tcp(sk)->ecn_flags & (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN);
}

CC_INLINE bool
cc_has_accecn(struct sock *sk)
{
	return cc_tcp(sk)->ecn_flags & TCP_ECN_MODE_ACCECN;
}

CC_INLINE void
cc_set_ece(struct sock *sk, bool ece)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u8 flags = tp->ecn_flags & ~TCP_ECN_DEMAND_CWR;

	tp->ecn_flags = ece ? flags | TCP_ECN_DEMAND_CWR : flags;
}

CC_INLINE bool
cc_ack_is_delayed(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ack.pending & ICSK_ACK_TIMER;
}

CC_INLINE void
cc_ack_at_once(struct sock *sk)
{
	((struct inet_connection_sock *)sk)->icsk_ack.pending |= ICSK_ACK_NOW;
}

CC_INLINE u32
tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* BPF_PROG makes functions of one argument, which holds the others. */
#pragma clang diagnostic ignored "-Wincompatible-function-pointer-types"
#define CC_REGISTER(...)                                                                           \
	char _license[] SEC("license") = "Dual BSD/GPL";                                           \
	SEC(".struct_ops")                                                                         \
	struct tcp_congestion_ops cc_ops = {                                                       \
		.name = CC_NAME, .flags = TCP_CONG_NON_RESTRICTED | (CC_FLAGS), __VA_ARGS__}

#endif
