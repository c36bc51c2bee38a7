/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cc.h for a kernel module. */
#ifndef NASHBED_CC_KERNEL_H
#define NASHBED_CC_KERNEL_H

#include <linux/inet_diag.h>
#include <linux/ip.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
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

/* No kernel sends data with ECT(1): tcp_ecn_send() has ECT(0) for every segment, in 7.3 too (there,
 * TCP_CONG_ECT_1_NEGOTIATION is about the handshake). A module can have the last word, where a
 * segment becomes an IP packet: MPTCP replaces a socket's table in the same way.
 */
static const struct inet_connection_sock_af_ops *cc_plain_ops;
static struct inet_connection_sock_af_ops cc_ect1_ops;

static inline int
cc_xmit_ect1(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	u8 tos = READ_ONCE(inet_sk(sk)->tos);

	if ((tos & INET_ECN_MASK) == INET_ECN_ECT_0)
		tos ^= INET_ECN_MASK;
	return __ip_queue_xmit(sk, skb, fl, tos);
}

CC_INLINE void
cc_send_ect1(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (sk->sk_family != AF_INET || icsk->icsk_af_ops == &cc_ect1_ops)
		return;
	cc_plain_ops = icsk->icsk_af_ops;
	cc_ect1_ops = *cc_plain_ops;
	cc_ect1_ops.queue_xmit = cc_xmit_ect1;
	icsk->icsk_af_ops = &cc_ect1_ops;
}

static void
cc_release(struct sock *sk)
{
	if (inet_csk(sk)->icsk_af_ops == &cc_ect1_ops)
		inet_csk(sk)->icsk_af_ops = cc_plain_ops;
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

CC_INLINE void
cc_set_pacing_shift(struct sock *sk, u8 shift)
{
	WRITE_ONCE(sk->sk_pacing_shift, shift);
}

#define cc_rcv_nxt(sk) (tcp_sk(sk)->rcv_nxt)
/* With the flags since 6.15, and in stable releases of 6.12: no version tells them apart. */
#define cc_send_ack(sk, rcv_nxt)                                                                   \
	__builtin_choose_expr(__builtin_types_compatible_p(typeof(__tcp_send_ack),                 \
							   void(struct sock *, u32)),              \
			      ((void (*)(struct sock *, u32))__tcp_send_ack)(sk, rcv_nxt),         \
			      ((void (*)(struct sock *, u32, u16))__tcp_send_ack)(sk, rcv_nxt, 0))

#ifdef TCP_ECN_MODE_ACCECN
#define cc_has_ecn(sk) tcp_ecn_mode_any(tcp_sk(sk))
#define cc_has_accecn(sk) tcp_ecn_mode_accecn(tcp_sk(sk))
#else
#define cc_has_ecn(sk) ((tcp_sk(sk)->ecn_flags & TCP_ECN_OK) != 0)
#define cc_has_accecn(sk) false
#endif

CC_INLINE void
cc_set_ece(struct sock *sk, bool ece)
{
	if (ece)
		tcp_sk(sk)->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tcp_sk(sk)->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

CC_INLINE bool
cc_ack_is_delayed(struct sock *sk)
{
	return inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER;
}

CC_INLINE void
cc_ack_at_once(struct sock *sk)
{
	inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
}

#define CC_REGISTER(...)                                                                           \
	static struct tcp_congestion_ops cc_ops __read_mostly = {                                  \
		.name = CC_NAME,                                                                   \
		.owner = THIS_MODULE,                                                              \
		.flags = TCP_CONG_NON_RESTRICTED | (CC_FLAGS),                                     \
		.release = cc_release,                                                             \
		.get_info = cc_get_info,                                                           \
		__VA_ARGS__};                                                                      \
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
