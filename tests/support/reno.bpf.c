/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A window that halves on loss, as struct_ops of eBPF that includes nothing of ours. The kernel's types are
 * declared as far as they are used, and found by name (CO-RE). NAME stands for its name.
 */
#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct sock;
struct tcp_sock {
	__u32 snd_cwnd;
} __attribute__((preserve_access_index));
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

char _license[] SEC("license") = "GPL";

SEC("struct_ops/ssthresh")
__u32
BPF_PROG(reno_ssthresh, struct sock *sk)
{
	__u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd / 2;

	return cwnd > 2 ? cwnd : 2;
}

SEC("struct_ops/cong_avoid")
void
BPF_PROG(reno_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	((struct tcp_sock *)sk)->snd_cwnd += acked;
}

SEC("struct_ops/undo_cwnd")
__u32
BPF_PROG(reno_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops registered = {
	.ssthresh = (void *)reno_ssthresh,
	.cong_avoid = (void *)reno_cong_avoid,
	.undo_cwnd = (void *)reno_undo_cwnd,
	.name = "NAME",
};
