/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Whether a probe has filled the pipe: three rounds without a quarter more bandwidth. */
#ifndef NASHBED_CC_BBR_FULL_PIPE_H
#define NASHBED_CC_BBR_FULL_PIPE_H

#include "state.h"

/* Begin to look, with this bandwidth to exceed. */
CC_INLINE void
bbr_watch_full_bw(struct bbr *b, u64 bw)
{
	b->full_bw = bw;
	b->full_rounds = 0;
	b->full_now = false;
}

CC_INLINE void
bbr_check_full_bw(struct bbr *b, u64 bw)
{
	if (bw >= b->full_bw * 5 / 4) {
		bbr_watch_full_bw(b, bw);
		return;
	}
	if (!b->round_start)
		return;
	b->full_rounds++;
	b->full_now = b->full_rounds >= BBR_FULL_BW_ROUNDS;
	if (b->full_now)
		b->full_reached = true;
}

#endif
