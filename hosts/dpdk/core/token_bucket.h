/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A token bucket in bytes of the wire, full at the beginning. Arithmetic is exact: tokens are parts,
 * of which a bit has 10^9, and a nanosecond brings as many as the rate has bit/s.
 */
#ifndef NASHBED_TOKEN_BUCKET_H
#define NASHBED_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nanoseconds.h"
#include "common/shared.h"

#define TOKEN_PARTS_PER_BYTE (8 * SECOND_NS)

struct token_bucket {
	uint64_t rate_bps;     /* 0: there is none */
	uint64_t full, tokens; /* in parts */
	uint64_t filled_ns;
};

static inline void
token_bucket_init(struct token_bucket *b, uint64_t rate_bps, uint64_t bytes)
{
	uint64_t full = bytes * TOKEN_PARTS_PER_BYTE;

	*b = (struct token_bucket){.rate_bps = rate_bps, .full = full, .tokens = full};
}

static inline void
token_bucket_fill(struct token_bucket *b, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - b->filled_ns;

	b->filled_ns = now_ns;
	if (passed_ns > (b->full - b->tokens) / b->rate_bps)
		b->tokens = b->full;
	else
		b->tokens += passed_ns * b->rate_bps;
}

/* How long after it was filled it has tokens for so many bytes, which it can hold. */
static inline uint64_t
token_bucket_wait_ns(const struct token_bucket *b, uint64_t bytes)
{
	uint64_t parts = bytes * TOKEN_PARTS_PER_BYTE;

	return parts <= b->tokens ? 0 : (parts - b->tokens + b->rate_bps - 1) / b->rate_bps;
}

/* Tokens that it has. */
static inline void
token_bucket_use(struct token_bucket *b, uint64_t bytes)
{
	b->tokens -= bytes * TOKEN_PARTS_PER_BYTE;
}

/* Whether it has tokens for so many bytes, which then are used; nothing waits for them. */
static inline bool
token_bucket_admits(struct token_bucket *b, uint64_t bytes, uint64_t now_ns)
{
	token_bucket_fill(b, now_ns);
	if (token_bucket_wait_ns(b, bytes) > 0)
		return false;
	token_bucket_use(b, bytes);
	return true;
}

#endif
