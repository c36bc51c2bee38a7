/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cc.h for a kernel module. */
#ifndef NASHBED_CC_KERNEL_H
#define NASHBED_CC_KERNEL_H

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/tcp.h>

#define CC_INLINE static inline
#define CC_MATH static noinline

#include "cc_told.h"

/* The state may be larger than what a socket has for it (104 bytes): there is a pointer to it. */
#define CC_STATE(type)                                                                             \
	_Static_assert(offsetof(type, told) == 0, "struct cc_told comes first");                   \
	CC_INLINE type *cc_state(struct sock *sk)                                                  \
	{                                                                                          \
		return *(type **)inet_csk_ca(sk);                                                  \
	}                                                                                          \
	CC_INLINE type *cc_state_new(struct sock *sk)                                              \
	{                                                                                          \
		return *(type **)inet_csk_ca(sk) = kzalloc(sizeof(type), GFP_ATOMIC);              \
	}

static void
cc_release(struct sock *sk)
{
	kfree(*(void **)inet_csk_ca(sk));
	*(void **)inet_csk_ca(sk) = NULL;
}

/* As BBR tells TCP_CC_INFO, with the mode in the upper 8 bits of cwnd_gain. */
static size_t
cc_get_info(struct sock *sk, u32 extensions, int *kind, union tcp_cc_info *info)
{
	const struct cc_told *told = *(const struct cc_told **)inet_csk_ca(sk);

	if (!told || !(extensions & (1 << (INET_DIAG_BBRINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = (u32)told->bw;
	info->bbr.bbr_bw_hi = (u32)(told->bw >> 32);
	info->bbr.bbr_min_rtt = told->min_rtt_us;
	info->bbr.bbr_pacing_gain = told->pacing_gain;
	info->bbr.bbr_cwnd_gain = told->cwnd_gain | told->mode << 24;
	*kind = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

#define CC_OP(ret, name, ...) static ret name(__VA_ARGS__)
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define CC_MAIN(name, sk, rs)                                                                      \
	static void name(struct sock *sk, u32 cc_ack, int cc_flag, const struct rate_sample *rs)
#else
#define CC_MAIN(name, sk, rs) static void name(struct sock *sk, const struct rate_sample *rs)
#endif

#define cc_keep(x) (x)
#define cc_tcp(sk) tcp_sk(sk)
#define cc_random() get_random_u32()
#define cc_div(a, b) div64_u64(a, b)
#define cc_sdiv(a, b) div64_s64(a, b)
#define cc_is_cwnd_limited(tp) ((tp)->is_cwnd_limited)
#define cc_ca_state(sk) (inet_csk(sk)->icsk_ca_state)

CC_INLINE void
cc_need_pacing(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

#define CC_REGISTER(...)                                                                           \
	static struct tcp_congestion_ops cc_ops __read_mostly = {.name = CC_NAME,                  \
								 .owner = THIS_MODULE,             \
								 .flags = TCP_CONG_NON_RESTRICTED, \
								 .release = cc_release,            \
								 .get_info = cc_get_info,          \
								 __VA_ARGS__};                     \
	static int __init cc_module_init(void)                                                     \
	{                                                                                          \
		return tcp_register_congestion_control(&cc_ops);                                   \
	}                                                                                          \
	static void __exit cc_module_exit(void)                                                    \
	{                                                                                          \
		tcp_unregister_congestion_control(&cc_ops);                                        \
	}                                                                                          \
	module_init(cc_module_init);                                                               \
	module_exit(cc_module_exit);                                                               \
	MODULE_DESCRIPTION("nashbed: congestion control " CC_NAME);                                \
	MODULE_LICENSE("GPL")

#endif
