/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How much more is acknowledged at once than the bandwidth explains: the window allows for it, so that
 * sending goes on while acknowledgements are held back.
 */
#ifndef NASHBED_CC_BBR_AGGREGATION_H
#define NASHBED_CC_BBR_AGGREGATION_H

#include "path.h"

CC_INLINE void
bbr_age_aggregation(struct bbr *b)
{
	u32 rounds = b->full_reached ? BBR_EXTRA_ACKED_ROUNDS : 1;

	if (!b->round_start || ++b->extra_rounds < rounds)
		return;
	b->extra_rounds = 0;
	b->extra[1] = b->extra[0];
	b->extra[0] = 0;
}

CC_INLINE void
bbr_update_aggregation(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	u64 us = tp->delivered_mstamp - b->extra_at;
	u32 expected, extra;

	if (!rs->acked_sacked || rs->delivered < 0 || rs->interval_us <= 0)
		return;
	bbr_age_aggregation(b);
	expected = bbr_volume(tp, bbr_bw(b), min_t(u64, us, 10 * USEC_PER_SEC));
	if (b->extra_acked <= expected || b->extra_acked >= BBR_EXTRA_ACKED_RESET) {
		b->extra_acked = 0;
		b->extra_at = tp->delivered_mstamp;
		expected = 0;
	}
	b->extra_acked += rs->acked_sacked;
	extra = min_t(u32, b->extra_acked - expected, tp->snd_cwnd);
	b->extra[0] = max(b->extra[0], extra);
}

CC_INLINE u32
bbr_aggregation(const struct tcp_sock *tp, const struct bbr *b)
{
	u32 most = bbr_volume(tp, bbr_bw(b), BBR_EXTRA_ACKED_MAX_US);
	u32 extra = max(b->extra[0], b->extra[1]);

	return min(extra, most);
}

#endif
