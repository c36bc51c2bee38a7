/* SPDX-License-Identifier: Apache-2.0 */
/* CUBIC of RFC 9438 for the simulator, to compete with: no HyStart, and the window falls to ssthresh
 * in one step where Linux falls to it in a round trip (RFC 6937).
 */
#include <math.h>

#include "cubic.h"

#define C 0.4				    /* RFC 9438, section 4.1 */
#define BETA 0.7			    /* section 4.6 */
#define ALPHA (3 * (1 - BETA) / (1 + BETA)) /* section 4.3 */

struct cubic {
	struct cc_told told;
	double cwnd, w_max, k_s, w_est;
	u64 epoch_us; /* 0: none since the last loss */
};
CC_STATE(struct cubic)

static void
cubic_init(struct sock *sk)
{
	struct cubic *cubic = cc_state_new(sk);

	cubic->cwnd = cc_tcp(sk)->snd_cwnd;
}

static u32
cubic_ssthresh(struct sock *sk)
{
	struct cubic *cubic = cc_state(sk);
	bool shrinks = cubic->cwnd < cubic->w_max; /* fast convergence, section 4.7 */

	cubic->w_max = shrinks ? cubic->cwnd * (1 + BETA) / 2 : cubic->cwnd;
	cubic->cwnd = fmax(cubic->cwnd * BETA, 2);
	cubic->epoch_us = 0;
	return (u32)cubic->cwnd;
}

static void
begin_epoch(struct cubic *cubic, u64 now_us)
{
	cubic->epoch_us = now_us;
	cubic->w_est = cubic->cwnd;
	cubic->w_max = fmax(cubic->w_max, cubic->cwnd);
	cubic->k_s = cbrt((cubic->w_max - cubic->cwnd) / C);
}

static void
grow(struct cubic *cubic, const struct tcp_sock *tp, u32 acked)
{
	double rtt_s = (tp->srtt_us >> 3) / 1e6, target, t;

	if (!cubic->epoch_us)
		begin_epoch(cubic, tp->tcp_mstamp);
	t = (double)(tp->tcp_mstamp - cubic->epoch_us) / 1e6 + rtt_s - cubic->k_s;
	target = cubic->w_max + C * t * t * t;
	target = fmin(fmax(target, cubic->cwnd), 1.5 * cubic->cwnd);
	cubic->w_est += ALPHA * acked / cubic->cwnd;
	cubic->cwnd += (target - cubic->cwnd) / cubic->cwnd * acked;
	cubic->cwnd = fmax(cubic->cwnd, cubic->w_est);
}

static void
cubic_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct cubic *cubic = cc_state(sk);
	struct tcp_sock *tp = cc_tcp(sk);

	(void)ack;
	(void)flag;
	if (tp->ca_state == TCP_CA_Open && rs->acked_sacked > 0) {
		if (cubic->cwnd < tp->snd_ssthresh)
			cubic->cwnd += rs->acked_sacked;
		else
			grow(cubic, tp, rs->acked_sacked);
	}
	cc_set_cwnd(sk, (u32)cubic->cwnd);
}

static u32
cubic_undo_cwnd(struct sock *sk)
{
	return cc_tcp(sk)->snd_cwnd;
}

static void
cubic_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Loss)
		cc_state(sk)->cwnd = 1;
}

const struct tcp_congestion_ops sim_cubic = {
	.name = CC_NAME,
	.init = cubic_init,
	.ssthresh = cubic_ssthresh,
	.cong_control = cubic_main,
	.undo_cwnd = cubic_undo_cwnd,
	.set_state = cubic_set_state,
};
