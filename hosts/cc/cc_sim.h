/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cc.h for the simulator (sim/), which needs neither root nor a kernel: a shared object with the
 * table `cc_ops`, and the types that both see.
 */
#ifndef NASHBED_CC_SIM_H
#define NASHBED_CC_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int32_t s32;
typedef long long s64;

struct sock {
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u8 sk_pacing_shift;
};

/* The members have the kernel's names and meaning; numbers count segments, not bytes. */
struct tcp_sock {
	struct sock sk;
	void *state; /* the control's */
	u32 mss_cache, snd_cwnd, snd_cwnd_clamp, snd_ssthresh, prior_cwnd;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 delivered, delivered_ce, lost, app_limited, srtt_us, data_segs_out;
	u32 snd_nxt, snd_una, write_seq;
	u64 tcp_mstamp, delivered_mstamp, tcp_wstamp_ns, tcp_clock_cache;
	u8 is_cwnd_limited, ca_state;
	bool has_ecn;
};

#define CC_KERNEL_TYPES_BEGIN
#define CC_KERNEL_TYPES_END
#include "cc_types.h"

/* The simulator's: zeroed memory that it frees at the end, and its seeded random numbers. */
void *sim_alloc(size_t bytes);
u32 sim_random(void);

#define CC_INLINE static inline __attribute__((unused))
#define CC_MATH static __attribute__((unused))

#include "cc_told.h"

#define CC_STATE(state_t)                                                                          \
	_Static_assert(offsetof(state_t, told) == 0, "struct cc_told comes first");                \
	CC_INLINE state_t *cc_state(struct sock *sk)                                               \
	{                                                                                          \
		return ((struct tcp_sock *)sk)->state;                                             \
	}                                                                                          \
	CC_INLINE state_t *cc_state_new(struct sock *sk)                                           \
	{                                                                                          \
		return ((struct tcp_sock *)sk)->state = sim_alloc(sizeof(state_t));                \
	}

#define CC_OP(ret, name, ...) static ret name(__VA_ARGS__)
#define CC_MAIN(name, sk, rs)                                                                      \
	static void name(struct sock *sk, u32 cc_ack __attribute__((unused)),                      \
			 int cc_flag __attribute__((unused)), const struct rate_sample *rs)
#define cc_keep(x) (x)
#define cc_tcp(sk) ((struct tcp_sock *)(sk))
#define cc_random() sim_random()
#define cc_div(a, b) ((u64)(a) / (u64)(b))
#define cc_sdiv(a, b) ((s64)(a) / (s64)(b))
#define cc_is_cwnd_limited(tp) ((tp)->is_cwnd_limited)
#define cc_ca_state(sk) (((struct tcp_sock *)(sk))->ca_state)

CC_INLINE void
cc_need_pacing(struct sock *sk)
{
	sk->sk_pacing_status = 1;
}

/* Its receivers acknowledge each segment, and say of each whether it was marked. */
#define cc_has_ecn(sk) (cc_tcp(sk)->has_ecn)
#define cc_has_accecn(sk) true
#define cc_ack_is_delayed(sk) false
#define cc_set_ece(sk, ece) ((void)(ece))
#define cc_send_ack(sk, rcv_nxt) ((void)(rcv_nxt))
#define cc_ack_at_once(sk) ((void)(sk))
#define cc_rcv_nxt(sk) 0
#define cc_send_ect1(sk) ((void)(sk))
#define cc_set_pacing_shift(sk, shift) ((void)(sk))

CC_INLINE u32
tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

#define CC_REGISTER(...)                                                                           \
	__attribute__((visibility("default"))) struct tcp_congestion_ops cc_ops = {                \
		.name = CC_NAME, .flags = (CC_FLAGS), __VA_ARGS__}

#endif
