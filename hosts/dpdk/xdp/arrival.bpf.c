/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Runs in the kernel for every frame at an AF_XDP port, in the softirq of whoever sent it: stamps
 * the frame with the time, and passes it on to the port's ring. Frames that wait there while
 * the data plane is kept from running still have the time at which they came.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arrival.h"

/* DPDK's driver looks for this name, and puts its sockets in. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

SEC("xdp")
int
stamp_arrival(struct xdp_md *frame)
{
	struct arrival *arrival;

	/* Without room for it the frame goes on unstamped; the data plane sees that and counts it. */
	if (bpf_xdp_adjust_meta(frame, -(int)sizeof(*arrival)) == 0) {
		arrival = (void *)(long)frame->data_meta;
		if ((void *)(arrival + 1) <= (void *)(long)frame->data)
			arrival->clock_ns = bpf_ktime_get_ns();
	}
	return bpf_redirect_map(&xsks_map, frame->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
