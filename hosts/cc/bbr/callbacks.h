/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* BBR's answers to the kernel. The version says when the pipe is full (bbr_check_full) and what a
 * recovery that was a mistake brings back (bbr_undo_probe).
 */
#ifndef NASHBED_CC_BBR_CALLBACKS_H
#define NASHBED_CC_BBR_CALLBACKS_H

#include "control.h"
#include "cycle.h"
#include "startup.h"

CC_INLINE void
bbr_init_model(struct bbr *b, const struct tcp_sock *tp)
{
	u32 rtt = tp->srtt_us >> 3;

	b->min_rtt = rtt ? rtt : BBR_NO_LIMIT;
	b->probe_min = b->min_rtt;
	b->min_rtt_at = tp->tcp_mstamp;
	b->probe_min_at = tp->tcp_mstamp;
	b->extra_at = tp->tcp_mstamp;
	b->inflight_hi = BBR_NO_LIMIT;
	b->bw_hi = BBR_NO_BW;
	b->ecn_alpha = BBR_UNIT; /* so that the first marks are heeded at once */
	b->ce = tp->delivered_ce;
	b->up_count = BBR_NO_LIMIT;
	bbr_reset_short_term(b);
}

CC_OP(void, bbr_init, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct bbr *b = cc_state_new(sk);

	cc_set_ssthresh(sk, TCP_INFINITE_SSTHRESH);
	cc_need_pacing(sk);
	if (!b)
		return;
	b->mode = BBR_STARTUP;
	b->init_cwnd = max_t(u32, tp->snd_cwnd, BBR_MIN_CWND);
	b->prior_cwnd = tp->prior_cwnd;
	b->loss_round_end = tp->delivered + 1;
	bbr_forget_losses(b, tp);
	b->echo.rcv_nxt = cc_rcv_nxt(sk);
	bbr_start_round(b, tp);
	bbr_history_mark(&b->history, tp);
	bbr_init_model(b, tp);
	bbr_set_gains(b);
	bbr_set_first_pacing(sk, b);
	bbr_tell(b);
}

CC_INLINE void
bbr_update_model(struct sock *sk, struct bbr *b, const struct rate_sample *rs,
		 const struct bbr_sample *s)
{
	bbr_note_losses(sk, b, rs, s);
	bbr_update_signals(sk, b, rs, s);
	bbr_update_aggregation(sk, b, rs);
	bbr_check_startup_losses(sk, b, s);
	bbr_check_full(b, rs, s);
	bbr_check_drain(sk, b);
	bbr_update_cycle(sk, b, rs, s);
	bbr_update_min_rtt(sk, b, rs);
}

CC_MAIN(bbr_main, sk, rs)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct bbr *b = cc_state(sk);
	struct bbr_sample s;

	if (!b)
		return;
	bbr_count_rounds(b, tp, rs);
	s = bbr_take_sample(b, tp, rs);
	bbr_check_startup_marks(sk, b);
	bbr_note_marks(b, tp);
	bbr_update_model(sk, b, rs, &s);
	bbr_set_gains(b);
	if (bbr_max_bw(b))
		bbr_set_pacing(sk, b, b->pacing_gain);
	bbr_set_cwnd(sk, b, rs->acked_sacked);
	bbr_advance_signals(b, rs, &s);
	bbr_note_cycle(b, rs, &s);
	b->ca_state = cc_ca_state(sk);
	bbr_tell(b);
}

/* After a pause the application is the limit: at the bandwidth, and no aggregation to speak of. */
CC_OP(void, bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct bbr *b = cc_state(sk);

	if (b && BBR_ECN && (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE))
		cc_echo_ce(sk, &b->echo, event == CA_EVENT_ECN_IS_CE);
	if (!b || event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	b->idle_restart = true;
	b->extra_at = tp->tcp_mstamp;
	b->extra_acked = 0;
	if (bbr_in_cycle(b))
		bbr_set_pacing(sk, b, BBR_UNIT);
	else if (b->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(sk, b);
}

/* Recovery begins. */
CC_OP(u32, bbr_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct bbr *b = cc_state(sk);

	if (b) {
		bbr_save_cwnd(b, tp);
		b->undo_mode = 0;
		b->undo_bw_lo = b->bw_lo;
		b->undo_lo = b->inflight_lo;
		b->undo_hi = b->inflight_hi;
	}
	return tp->snd_ssthresh;
}

/* That recovery was a mistake. */
CC_OP(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct bbr *b = cc_state(sk);

	if (!b)
		return cc_keep(tp->snd_cwnd);
	bbr_watch_full_bw(b, 0);
	bbr_forget_losses(b, tp);
	b->bw_lo = max(b->bw_lo, b->undo_bw_lo);
	b->inflight_lo = max(b->inflight_lo, b->undo_lo);
	b->inflight_hi = max(b->inflight_hi, b->undo_hi);
	bbr_undo_probe(b, tp);
	b->undo_mode = 0;
	return b->prior_cwnd;
}

/* A timeout: bbr_lower_bounds needs the window from before it. */
CC_INLINE void
bbr_enter_loss(struct bbr *b, const struct tcp_sock *tp)
{
	b->ca_state = TCP_CA_Loss;
	bbr_watch_full_bw(b, 0);
	bbr_history_mark(&b->history, tp);
	if (!bbr_is_probing(b) && b->inflight_lo == BBR_NO_LIMIT)
		b->inflight_lo = max_t(u32, tp->snd_cwnd, b->prior_cwnd);
}

CC_OP(void, bbr_set_state, struct sock *sk, u8 state)
{
	struct bbr *b = cc_state(sk);

	if (!b)
		return;
	if (state == TCP_CA_Loss)
		bbr_enter_loss(b, cc_tcp(sk));
	else if (b->ca_state == TCP_CA_Loss)
		bbr_restore_cwnd(sk, b);
}

/* Room for three windows: it may slow-start while it recovers. */
CC_OP(u32, bbr_sndbuf_expand, struct sock *sk)
{
	return 3;
}

CC_REGISTER(.init = bbr_init, .cong_control = bbr_main, .cwnd_event = bbr_cwnd_event,
	    .ssthresh = bbr_ssthresh, .undo_cwnd = bbr_undo_cwnd, .set_state = bbr_set_state,
	    .sndbuf_expand = bbr_sndbuf_expand);

#endif
