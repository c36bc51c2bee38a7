/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The kernel's own BBR, called through struct_ops: the positive control of the conformance
 * measurement (what the machinery itself changes, which should be nothing), and a start for variants
 * of BBR in a few lines. It tells nothing of itself: its state is the kernel's.
 */
#ifndef __bpf__
#error "bbrk calls functions of the running kernel: it is for eBPF only, not for virtual time"
#endif
#include "cc.h"

#define KERNEL extern __attribute__((section(".ksyms")))
KERNEL void bbr_init(struct sock *sk);
KERNEL void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
KERNEL u32 bbr_undo_cwnd(struct sock *sk);
KERNEL void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event);
KERNEL u32 bbr_ssthresh(struct sock *sk);
KERNEL u32 bbr_min_tso_segs(struct sock *sk);
KERNEL u32 bbr_sndbuf_expand(struct sock *sk);
KERNEL void bbr_set_state(struct sock *sk, u8 state);

CC_OP(void, k_init, struct sock *sk)
{
	bbr_init(sk);
}

CC_MAIN(k_main, sk, rs)
{
	bbr_main(sk, cc_ack, cc_flag, rs);
}

CC_OP(u32, k_undo_cwnd, struct sock *sk)
{
	return bbr_undo_cwnd(sk);
}

CC_OP(void, k_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	bbr_cwnd_event(sk, event);
}

CC_OP(u32, k_ssthresh, struct sock *sk)
{
	return bbr_ssthresh(sk);
}

CC_OP(u32, k_min_tso_segs, struct sock *sk)
{
	return bbr_min_tso_segs(sk);
}

CC_OP(u32, k_sndbuf_expand, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

CC_OP(void, k_set_state, struct sock *sk, u8 state)
{
	bbr_set_state(sk, state);
}

CC_REGISTER(.init = k_init, .cong_control = k_main, .undo_cwnd = k_undo_cwnd,
	    .cwnd_event = k_cwnd_event, .ssthresh = k_ssthresh, .min_tso_segs = k_min_tso_segs,
	    .sndbuf_expand = k_sndbuf_expand, .set_state = k_set_state);
