/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Holds the core that it is run on, softirqs included, for so many nanoseconds as the packet says:
 * the kernel runs a program under test with softirqs off (bpf_test_run() in net/bpf/test_run.c).
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* The most that the kernel allows of one loop; a turn takes some 20 ns. */
#define TURNS (1u << 23)

static int
is_over(__u32 turn, __u64 *until_ns)
{
	(void)turn;
	return bpf_ktime_get_ns() >= *until_ns;
}

SEC("xdp")
int
hold(struct xdp_md *context)
{
	__u64 *wanted_ns = (__u64 *)(long)context->data;
	__u64 until_ns;

	if ((void *)(wanted_ns + 1) > (void *)(long)context->data_end)
		return XDP_ABORTED;
	until_ns = bpf_ktime_get_ns() + *wanted_ns;
	bpf_loop(TURNS, is_over, &until_ns, 0);
	bpf_loop(TURNS, is_over, &until_ns, 0);
	bpf_loop(TURNS, is_over, &until_ns, 0);
	bpf_loop(TURNS, is_over, &until_ns, 0);
	return bpf_ktime_get_ns() >= until_ns ? XDP_PASS : XDP_ABORTED;
}

char _license[] SEC("license") = "GPL";
