// SPDX-License-Identifier: Apache-2.0
/*
 * CUBIC as in Linux (RFC 9438, net/ipv4/tcp_cubic.c): HyStart by delay, fast convergence, the
 * Reno-friendly region.
 */
#include "bounds.h"
#include "cohort.h"

#include <math.h>

#define INITIAL_WINDOW 10.0
#define LEAST_WINDOW 2.0
#define C 0.4
#define BETA 0.7
/* Of the last maximum that a flow that is losing ground gives up: (1 + beta) / 2. */
#define FAST_CONVERGENCE 0.85
/* Window growth for each packet of a Reno flow with this beta: 3 (1 - beta) / (1 + beta). */
#define RENO_ALPHA 0.529
/* At most half a packet for each that is acknowledged. */
#define MOST_GROWTH 0.5
/* Until the first loss says what there is: a packet for every 20, which is 5 % in a round trip. */
#define UNKNOWN_GROWTH 0.05
/* Growth at the plateau, where the target is not above the window. */
#define LEAST_GROWTH 0.01
#define HYSTART_WINDOW 16.0
#define HYSTART_LEAST 0.004
#define HYSTART_MOST 0.016
#define LEAST_RTO 0.2
/* With more packets in flight than this, acknowledgements may tell of a second loss (RFC 8985). */
#define SMALL_WINDOW 4.0

static void
cubic_start(struct cohort *flows, double now)
{
	struct cubic *cubic = &flows->cubic;

	(void)now;
	*cubic = (struct cubic){.slow_start = true,
				.ssthresh = INFINITY,
				.epoch = -1,
				.min_rtt = INFINITY,
				.recovery_until = -1};
	flows->window = INITIAL_WINDOW;
	flows->pacing_rate = INFINITY;
}

/* The retransmission is lost as well, and nothing but the timer tells. */
static bool
times_out(struct cohort *flows, const struct ack *ack)
{
	double untold = smaller(1, SMALL_WINDOW / flows->window);

	return chance_draw(flows->chance) <
	       flows->constants->timeout_weight * untold * ack->loss_rate;
}

static void
cut(struct cohort *flows, const struct ack *ack)
{
	struct cubic *cubic = &flows->cubic;
	double window = flows->window;

	cubic->last_max = window < cubic->last_max ? window * FAST_CONVERGENCE : window;
	cubic->ssthresh = larger(LEAST_WINDOW, window * BETA);
	cubic->epoch = -1;
	flows->cut = true;
	if (times_out(flows, ack)) {
		flows->window = 1;
		flows->in_flight = 0;
		flows->silent_until = ack->now + LEAST_RTO + ack->rtt;
		cubic->slow_start = true;
		cubic->recovery_until = flows->silent_until + ack->rtt;
	} else {
		flows->window = cubic->ssthresh;
		cubic->slow_start = false;
		cubic->recovery_until = ack->now + ack->rtt;
	}
}

static void
leave_slow_start(struct cohort *flows)
{
	flows->cubic.slow_start = false;
	flows->cubic.ssthresh = flows->window;
	flows->cubic.epoch = -1;
}

static void
slow_start(struct cohort *flows, const struct ack *ack)
{
	struct cubic *cubic = &flows->cubic;
	double rise = smaller(HYSTART_MOST, larger(HYSTART_LEAST, cubic->min_rtt / 8));
	bool first = isinf(cubic->ssthresh);

	flows->window += ack->acked;
	if (first && ack->round && flows->window >= HYSTART_WINDOW &&
	    ack->rtt > cubic->min_rtt + rise)
		leave_slow_start(flows);
	else if (flows->window >= cubic->ssthresh)
		leave_slow_start(flows);
}

static void
begin_epoch(struct cohort *flows, double now)
{
	struct cubic *cubic = &flows->cubic;
	double below = larger(0, cubic->last_max - flows->window);

	cubic->epoch = now;
	cubic->k = cbrt(below / C);
	cubic->origin = larger(cubic->last_max, flows->window);
	cubic->reno = flows->window;
}

static void
avoid_congestion(struct cohort *flows, const struct ack *ack)
{
	struct cubic *cubic = &flows->cubic;
	double window = flows->window, t, target, growth;

	if (cubic->epoch < 0)
		begin_epoch(flows, ack->now);
	t = ack->now - cubic->epoch + cubic->min_rtt - cubic->k;
	target = cubic->origin + C * t * t * t;
	growth = target > window ? (target - window) / window : LEAST_GROWTH / window;
	if (cubic->last_max <= 0)
		growth = larger(growth, UNKNOWN_GROWTH);
	cubic->reno += RENO_ALPHA * ack->acked / window;
	growth = larger(growth, (cubic->reno - window) / window);
	flows->window += ack->acked * smaller(growth, MOST_GROWTH);
}

static void
cubic_on_ack(struct cohort *flows, const struct ack *ack)
{
	struct cubic *cubic = &flows->cubic;

	if (ack->now < flows->silent_until)
		return;
	if (ack->acked > 0)
		cubic->min_rtt = smaller(cubic->min_rtt, ack->rtt);
	if (ack->lost > 0 && ack->now > cubic->recovery_until && loses(flows, ack->lost))
		cut(flows, ack);
	if (ack->acked <= 0 || ack->now <= cubic->recovery_until)
		return;
	if (cubic->slow_start)
		slow_start(flows, ack);
	else
		avoid_congestion(flows, ack);
}

static double
cubic_min_rtt(const struct cohort *flows)
{
	return flows->cubic.min_rtt;
}

const struct cca cubic_cca = {
	.name = "cubic",
	.start = cubic_start,
	.on_ack = cubic_on_ack,
	.min_rtt = cubic_min_rtt,
};
