/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A token-bucket shaper behind a queue, in place of a line, as Linux's sch_tbf: the first packet
 * waits in the queue until the bucket of the rate has tokens for it, and with a peak rate a second,
 * small one, too; then it leaves at once. It waits for whole nanoseconds, and what comes in the rest
 * of one stays in the bucket, so that the rate is exact.
 */
#ifndef NASHBED_SHAPER_H
#define NASHBED_SHAPER_H

#include "lane_config.h"
#include "token_bucket.h"

struct shaper {
	struct token_bucket rate;
	struct token_bucket peak; /* of rate 0: there is none */
};

static inline bool
shaper_is_asked(const struct lane_config *config)
{
	return config->shaper.burst_bytes > 0;
}

/* Tokens come at one rate, all the time. */
static inline bool
shaper_valid(const struct lane_config *config)
{
	const struct shaper_config *asked = &config->shaper;

	return !shaper_is_asked(config) || ((asked->peak_bps == 0 || asked->mtu_bytes > 0) &&
					    line_plan_is_empty(&config->schedule));
}

static inline void
shaper_init(struct shaper *s, const struct lane_config *config)
{
	token_bucket_init(&s->rate, config->rate_bps, config->shaper.burst_bytes);
	token_bucket_init(&s->peak, config->shaper.peak_bps, config->shaper.mtu_bytes);
}

/* What no bucket ever has tokens for would wait for ever. */
static inline bool
shaper_holds(const struct shaper *s, uint64_t bytes)
{
	return bytes * TOKEN_PARTS_PER_BYTE <= s->rate.full &&
	       (s->peak.rate_bps == 0 || bytes * TOKEN_PARTS_PER_BYTE <= s->peak.full);
}

/* When a packet leaves that is the first in the queue from a time on, and its tokens are used. */
static inline uint64_t
shaper_departure(struct shaper *s, uint64_t from_ns, uint64_t bytes)
{
	uint64_t wait_ns, peak_ns;

	token_bucket_fill(&s->rate, from_ns);
	wait_ns = token_bucket_wait_ns(&s->rate, bytes);
	if (s->peak.rate_bps > 0) {
		token_bucket_fill(&s->peak, from_ns);
		peak_ns = token_bucket_wait_ns(&s->peak, bytes);
		wait_ns = peak_ns > wait_ns ? peak_ns : wait_ns;
		token_bucket_fill(&s->peak, from_ns + wait_ns);
		token_bucket_use(&s->peak, bytes);
	}
	token_bucket_fill(&s->rate, from_ns + wait_ns);
	token_bucket_use(&s->rate, bytes);
	return from_ns + wait_ns;
}

#endif
