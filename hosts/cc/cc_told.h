/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a congestion control tells of itself; the first member of its state. The flow generator reads
 * it with each of its samples, where the kernel's BBR has TCP_CC_INFO. Programs include
 * <linux/types.h> before it.
 */
#ifndef NASHBED_CC_TOLD_H
#define NASHBED_CC_TOLD_H

#define CC_GAIN_UNIT 256

struct cc_told {
	__u64 bw;	   /* bytes/s: the bottleneck's, as it estimates it */
	__u32 min_rtt_us;  /* the path's without a queue, as it estimates it; 0: none yet */
	__u16 pacing_gain; /* in 1/CC_GAIN_UNIT */
	__u16 cwnd_gain;   /* in 1/CC_GAIN_UNIT */
	__u32 mode;	   /* numbers of its own, 1 to 255; 0: none */
	__u32 reserved;
};

#endif
