/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A policer before a queue: what finds too few tokens is dropped at once (DROP_POLICER); nothing
 * waits for tokens. Packets that arrive as one pass or are dropped as one.
 */
#ifndef NASHBED_POLICER_H
#define NASHBED_POLICER_H

#include "lane_config.h"
#include "token_bucket.h"

/* Whether there are tokens for n packets that arrive as one, which then are used. */
static inline bool
policer_passes(struct token_bucket *policer, const struct queue_packet *packets, uint32_t n,
	       uint32_t overhead_bytes, uint64_t now_ns)
{
	uint64_t bytes = 0;

	token_bucket_fill(policer, now_ns);
	for (uint32_t i = 0; i < n; i++)
		bytes += (uint64_t)packets[i].bytes + overhead_bytes;
	if (token_bucket_wait_ns(policer, bytes) > 0)
		return false;
	token_bucket_use(policer, bytes);
	return true;
}

#endif
