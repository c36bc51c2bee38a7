/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What was in flight when a segment left, and how much was lost since: Google's kernels keep both with
 * each segment, others do not. All keep the value that tp->delivered had then (rs->prior_delivered),
 * so a table by that value answers for the segment.
 *
 * Between two acknowledgements tp->delivered is constant. A segment sent then had at most what the
 * second found in flight (rs->prior_in_flight), which is what the table says of it: exact for the last
 * one sent, too much by those that followed it for the others. Where acknowledgements outnumber the
 * table, one row stands for up to 1/256 of what is in flight, delivered or lost.
 */
#ifndef NASHBED_CC_BBR_HISTORY_H
#define NASHBED_CC_BBR_HISTORY_H

#define BBR_HISTORY 512	     /* rows, a power of two: two windows' worth */
#define BBR_HISTORY_STEPS 10 /* halvings until one row is left */

struct bbr_sent {
	u32 delivered; /* tp->delivered while these were sent */
	u32 inflight;  /* after the last of them */
	u32 lost;      /* tp->lost while they were sent */
};

struct bbr_history {
	u32 rows;      /* ever made */
	u32 delivered; /* tp->delivered since the last acknowledgement */
	u32 lost;      /* tp->lost since then */
	struct bbr_sent sent[BBR_HISTORY];
};

/* From here on segments are sent with these counts. */
CC_INLINE void
bbr_history_mark(struct bbr_history *h, const struct tcp_sock *tp)
{
	h->delivered = tp->delivered;
	h->lost = tp->lost;
}

/* Whether what was sent since the last acknowledgement needs a row of its own. */
CC_INLINE bool
bbr_history_has_moved(const struct bbr_history *h, const struct bbr_sent *newest, u32 inflight)
{
	return h->delivered - newest->delivered + h->lost - newest->lost >
	       inflight / (BBR_HISTORY / 2);
}

/* An acknowledgement has arrived: what was sent since the last one becomes a row, or part of the newest. */
CC_INLINE void
bbr_history_add(struct bbr_history *h, u32 prior_in_flight)
{
	u32 i = (h->rows - 1) % BBR_HISTORY;

	if (!h->rows || bbr_history_has_moved(h, &h->sent[i], prior_in_flight)) {
		i = h->rows++ % BBR_HISTORY;
		h->sent[i].delivered = h->delivered;
		h->sent[i].lost = h->lost;
	}
	h->sent[i].inflight = prior_in_flight;
}

/* The newest row that is not after `delivered`; the oldest where all are. */
CC_INLINE u32
bbr_history_find(const struct bbr_history *h, u32 delivered)
{
	u32 low = h->rows > BBR_HISTORY ? h->rows - BBR_HISTORY : 0;
	u32 rows = h->rows - low, half;
	int step;

	for (step = 0; step < BBR_HISTORY_STEPS; step++) {
		half = rows / 2;
		if (!half)
			break;
		if (cc_before(delivered, h->sent[(low + half) % BBR_HISTORY].delivered)) {
			rows = half;
		} else {
			low += half;
			rows -= half;
		}
	}
	return low % BBR_HISTORY;
}

#endif
