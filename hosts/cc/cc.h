/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A congestion control in one C file: this header makes of it
 *
 *   an eBPF struct_ops object	(clang -target bpf)		cc_bpf.h
 *   a kernel module		(kbuild; __KERNEL__)		cc_kernel.h
 *   a shared object		(-DCC_SIM, for sim/)		cc_sim.h
 *
 * The build names it by its file: -DCC_NAME="stem". The file defines
 *
 *   CC_STATE(struct type)	what it keeps of each connection; begins with `struct cc_told told`
 *   CC_OP(ret, name, args)	its callbacks
 *   CC_MAIN(name, sk, rs)	the one that hears of each acknowledgement
 *   CC_REGISTER(.init = ...)	the table of them, at the end
 *   CC_FLAGS			before it includes this header, where the kernel is to know more of
 *				it: TCP_CONG_NEEDS_ECN
 *
 * and uses cc_state(sk), cc_tcp(sk), the functions below and whole numbers. It cannot use floating
 * point, loops without a constant bound, or write a field of the socket but by cc_set_*,
 * cc_set_ssthresh and cc_mark_app_limited.
 */
#ifndef NASHBED_CC_H
#define NASHBED_CC_H

#ifndef CC_NAME
#error "CC_NAME is missing: the build gives it, and it is the file's stem"
#endif

#ifndef CC_FLAGS
#define CC_FLAGS 0
#endif

#ifdef __KERNEL__
#include "cc_kernel.h"
#elif defined(CC_SIM)
#include "cc_sim.h"
#else
#include "cc_bpf.h"
#endif

CC_INLINE void
cc_set_cwnd(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = cc_tcp(sk);

	tp->snd_cwnd = max(1u, min(cwnd, tp->snd_cwnd_clamp));
}

/* Pacing, in bytes a second. */
CC_INLINE void
cc_set_rate(struct sock *sk, u64 bytes_per_s)
{
	u64 most = sk->sk_max_pacing_rate;

	sk->sk_pacing_rate = max(1ULL, min(bytes_per_s, most));
}

/* Only ss(8) and the recovery of others look at it where a control has cong_control. */
CC_INLINE void
cc_set_ssthresh(struct sock *sk, u32 packets)
{
	cc_tcp(sk)->snd_ssthresh = packets;
}

/* What is in flight now will be delivered at a rate below the path's. */
CC_INLINE void
cc_mark_app_limited(struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);

	tp->app_limited = max(tp->delivered + tcp_packets_in_flight(tp), 1u);
}

/* What a receiver remembers to echo each mark (RFC 8257, section 3.2). */
struct cc_echo {
	u32 rcv_nxt; /* before the segment that has just arrived */
	bool ce;     /* whether the last one was marked */
};

/* For CA_EVENT_ECN_IS_CE and CA_EVENT_ECN_NO_CE, which the kernel tells a control with
 * TCP_CONG_NEEDS_ECN of each segment: no acknowledgement stands for marked segments and others, and
 * its ECE says which. The kernel does it for dctcp only; any other receiver sends ECE until it sees
 * CWR (RFC 3168), once in a round trip. Where AccECN counts marks, there is nothing to do.
 */
CC_INLINE void
cc_echo_ce(struct sock *sk, struct cc_echo *echo, bool ce)
{
	if (cc_has_accecn(sk))
		return;
	if (echo->ce != ce) {
		if (cc_ack_is_delayed(sk)) {
			cc_set_ece(sk, echo->ce);
			cc_send_ack(sk, echo->rcv_nxt);
		}
		cc_ack_at_once(sk);
	}
	echo->rcv_nxt = cc_rcv_nxt(sk);
	echo->ce = ce;
	cc_set_ece(sk, ce);
}

/* Numbers that wrap: whether a is before b. */
CC_INLINE bool
cc_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif
