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
};

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

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
};
enum tcp_ca_state {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define U32_MAX 0xffffffffu
#define USEC_PER_SEC 1000000UL
#define USEC_PER_MSEC 1000UL

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

/* The simulator's: zeroed memory that it frees at the end, and its seeded random numbers. */
void *sim_alloc(size_t bytes);
u32 sim_random(void);

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(t, a, b) ((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b) ((t)(a) > (t)(b) ? (t)(a) : (t)(b))

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

CC_INLINE u32
tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

#define CC_REGISTER(...)                                                                           \
	__attribute__((visibility("default"))) struct tcp_congestion_ops cc_ops = {                \
		.name = CC_NAME, __VA_ARGS__}

#endif
