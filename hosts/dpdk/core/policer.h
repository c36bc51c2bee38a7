/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A policer before a queue: a token bucket in bytes of the wire, full at the beginning. What finds
 * too few tokens is dropped at once (DROP_POLICER); nothing waits for tokens. Packets that arrive as
 * one pass or are dropped as one. Arithmetic is exact: tokens are parts, of which a bit has 10^9, and
 * a nanosecond brings as many as the rate has bit/s.
 */
#ifndef NASHBED_POLICER_H
#define NASHBED_POLICER_H

#include "common/nanoseconds.h"
#include "common/shared.h"
#include "lane_config.h"

#define POLICER_PARTS_PER_BYTE (8 * SECOND_NS)

struct policer {
	uint64_t rate_bps;     /* 0: there is none */
	uint64_t full, tokens; /* in parts */
	uint64_t filled_ns;
};

static inline bool
policer_valid(const struct policer_config *config)
{
	return config->rate_bps == 0 ||
	       (config->rate_bps <= RATE_BPS_MAX && config->burst_bytes > 0 &&
		config->burst_bytes <= UINT64_MAX / POLICER_PARTS_PER_BYTE);
}

static inline void
policer_init(struct policer *p, const struct policer_config *config)
{
	uint64_t full = config->burst_bytes * POLICER_PARTS_PER_BYTE;

	*p = (struct policer){.rate_bps = config->rate_bps, .full = full, .tokens = full};
}

static inline void
policer_refill(struct policer *p, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - p->filled_ns;

	p->filled_ns = now_ns;
	if (passed_ns > (p->full - p->tokens) / p->rate_bps)
		p->tokens = p->full;
	else
		p->tokens += passed_ns * p->rate_bps;
}

/* Whether there are tokens for n packets that arrive as one, which then are used. */
static inline bool
policer_passes(struct policer *p, const struct queue_packet *packets, uint32_t n,
	       uint32_t overhead_bytes, uint64_t now_ns)
{
	uint64_t bytes = 0;

	policer_refill(p, now_ns);
	for (uint32_t i = 0; i < n; i++)
		bytes += (uint64_t)packets[i].bytes + overhead_bytes;
	if (bytes > p->tokens / POLICER_PARTS_PER_BYTE)
		return false;
	p->tokens -= bytes * POLICER_PARTS_PER_BYTE;
	return true;
}

#endif
