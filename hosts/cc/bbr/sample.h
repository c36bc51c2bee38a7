/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What an acknowledgement says, and whether it ends a round trip counted in segments: one ends when
 * a segment is acknowledged that was sent after the last one ended.
 */
#ifndef NASHBED_CC_BBR_SAMPLE_H
#define NASHBED_CC_BBR_SAMPLE_H

#include "state.h"

CC_INLINE void
bbr_count_rounds(struct bbr *b, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	b->round_start = false;
	if (rs->interval_us <= 0 || rs->delivered < 0 ||
	    cc_before(rs->prior_delivered, b->round_end))
		return;
	bbr_start_round(b, tp);
	b->round_start = true;
	b->rounds_since_probe = min_t(u32, b->rounds_since_probe + 1, 255);
	b->drain_rounds++;
}

/* What was marked lost until now, as at a timeout that no acknowledgement has answered yet, was not. */
CC_INLINE void
bbr_forget_losses(struct bbr *b, const struct tcp_sock *tp)
{
	b->loss_in_round = false;
	b->lost = tp->lost;
	b->lost_no_sooner = tp->lost;
}

CC_INLINE struct bbr_sample
bbr_take_sample(struct bbr *b, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	struct bbr_sample s = {};
	u32 row, lost;

	if (rs->interval_us > 0 && rs->delivered >= 0)
		s.bw = cc_div((u64)rs->delivered * tp->mss_cache * USEC_PER_SEC, rs->interval_us);
	s.newly_lost = tp->lost - b->lost;
	b->lost = tp->lost;
	bbr_history_add(&b->history, rs->prior_in_flight);
	bbr_history_mark(&b->history, tp);
	if (rs->prior_mstamp) {
		row = bbr_history_find(&b->history, rs->prior_delivered);
		s.inflight = b->history.sent[row].inflight;
		lost = b->history.sent[row].lost;
		s.lost = tp->lost - (cc_before(lost, b->lost_no_sooner) ? b->lost_no_sooner : lost);
	}
	return s;
}

/* Whether more was lost of what was in flight than probing may cost. */
CC_INLINE bool
bbr_too_lossy(const struct bbr_sample *s)
{
	return s->lost && s->inflight && (u64)s->lost * 100 > (u64)s->inflight * BBR_LOSS_PERCENT;
}

#endif
