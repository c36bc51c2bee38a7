// SPDX-License-Identifier: Apache-2.0
/*
 * PCC Vivace with the utility that minds latency (Dong et al., NSDI 2018), in pairs of monitor
 * intervals (Allegro, NSDI 2015), as hosts/cc/vivace.c has it; hosts/cc/README.md has the sources.
 */
#include "losses.h"
#include "smoothing.h"

#define MBIT_PER_PACKET (1448 * 8e-6)
/* Utility, section 3: x^0.9 - b x dRTT/dt - c x L, with x in Mbit/s. */
#define EXPONENT 0.9
#define LATENCY_WEIGHT 900.0
#define LOSS_WEIGHT 11.35
/* Smaller gradients of the RTT are noise (PCC-Kernel, PCC_LAT_INFL_FILTER). */
#define GRADIENT_FILTER 0.03
/* Rate control, section 4. */
#define PROBE_PART 0.05
#define BOUNDARY_FIRST 0.05
#define BOUNDARY_STEP 0.1
#define BOUNDARY_STEPS_MOST 10.0
/* In Mbit/s (PCC-Uspace). */
#define LEAST_STEP 0.5
#define LEAST_RATE 0.5
#define MOST_RATE 100000.0
/* Monitor intervals: a round trip, ten packets at least (Allegro, section 3.1). */
#define INTERVAL_PACKETS 10.0
#define INITIAL_PACKETS 10.0
#define PAIRS 2
/* The window must not bind (PCC-Kernel). */
#define WINDOW_GAIN 2.0

/* dRTT/dt: least squares over the times of sending. */
static double
rtt_gradient(const struct vivace_interval *interval)
{
	double covariance = interval->n * interval->tr - interval->t * interval->r;
	double variance = interval->n * interval->tt - interval->t * interval->t;
	double gradient = variance > 0 ? covariance / variance : 0;

	return fabs(gradient) < GRADIENT_FILTER ? 0 : gradient;
}

static double
utility_of(const struct vivace_interval *interval)
{
	double rate = interval->rate * MBIT_PER_PACKET;
	double all = interval->acked + interval->missed;
	double loss = all > 0 ? interval->missed / all : 0;

	return pow(rate, EXPONENT) - LATENCY_WEIGHT * rate * rtt_gradient(interval) -
	       LOSS_WEIGHT * rate * loss;
}

static void
open_interval(struct vivace_interval *interval, double now, double rate)
{
	*interval = (struct vivace_interval){.rate = rate, .opened = now, .closed = INFINITY};
}

static bool
is_long_enough(const struct vivace *vivace, const struct vivace_interval *interval, double now)
{
	return now - interval->opened >=
	       larger(vivace->smoothed_rtt, INTERVAL_PACKETS / interval->rate);
}

/* All of it is acknowledged or lost. */
static bool
is_known(const struct vivace_interval *interval, const struct ack *ack)
{
	return ack->now - ack->rtt >= interval->closed;
}

static void
account(struct vivace_interval *interval, const struct ack *ack, double missed)
{
	double sent = ack->now - ack->rtt, t, r;

	if (interval->rate <= 0 || sent < interval->opened || sent >= interval->closed)
		return;
	interval->missed += missed;
	interval->acked += ack->acked;
	if (interval->n <= 0)
		interval->first_rtt = ack->rtt;
	t = sent - interval->opened;
	r = ack->rtt - interval->first_rtt;
	interval->n += ack->acked;
	interval->t += ack->acked * t;
	interval->r += ack->acked * r;
	interval->tt += ack->acked * t * t;
	interval->tr += ack->acked * t * r;
}

/* m(tau) of section 4.2: the longer it goes in one direction, the longer the steps. */
static double
amplifier(double streak)
{
	return streak <= 3 ? streak : 2 * streak - 3;
}

static double
boundary(const struct vivace *vivace, double steps)
{
	return vivace->rate * MBIT_PER_PACKET * (BOUNDARY_FIRST + steps * BOUNDARY_STEP);
}

/* Section 4.2: k grows while steps exceed it, and falls to the least that does not bind. */
static double
bounded(struct vivace *vivace, double step)
{
	double most = boundary(vivace, vivace->boundary_steps);

	if (step > most) {
		vivace->boundary_steps = smaller(vivace->boundary_steps + 1, BOUNDARY_STEPS_MOST);
		return most;
	}
	while (vivace->boundary_steps > 0 && step <= boundary(vivace, vivace->boundary_steps - 1))
		vivace->boundary_steps -= 1;
	return step;
}

static void
hesitate(struct vivace *vivace)
{
	vivace->streak = 0;
	vivace->boundary_steps = 0;
	vivace->direction = 0;
}

static void
set_rate(struct vivace *vivace, double mbit)
{
	vivace->rate = larger(LEAST_RATE, smaller(mbit, MOST_RATE)) / MBIT_PER_PACKET;
}

/* A step along the gradient of the utility (theta_0 = 1). */
static void
climb(struct vivace *vivace, double gradient)
{
	int direction = gradient > 0 ? 1 : -1;
	double step;

	if (direction != vivace->direction)
		hesitate(vivace);
	vivace->direction = direction;
	vivace->streak += 1;
	step = bounded(vivace, fabs(gradient) * amplifier(vivace->streak));
	set_rate(vivace, vivace->rate * MBIT_PER_PACKET + direction * larger(step, LEAST_STEP));
}

static void
begin_probes(struct cohort *flows, double now)
{
	struct vivace *vivace = &flows->vivace;
	double apart = vivace->rate * PROBE_PART;

	for (int i = 0; i < VIVACE_PROBES; i += 2) {
		double first = chance_draw(flows->chance) < 0.5 ? apart : -apart;

		vivace->probe[i] =
			(struct vivace_interval){.rate = vivace->rate + first, .opened = INFINITY};
		vivace->probe[i + 1] =
			(struct vivace_interval){.rate = vivace->rate - first, .opened = INFINITY};
	}
	vivace->sending = 0;
	open_interval(&vivace->probe[0], now, vivace->probe[0].rate);
}

/* How much the higher rate of a pair is better. */
static double
gain_of_pair(const struct vivace_interval *pair)
{
	double gain = utility_of(&pair[0]) - utility_of(&pair[1]);

	return pair[0].rate > pair[1].rate ? gain : -gain;
}

/* Both pairs must agree (Allegro, section 3.2). */
static void
decide(struct vivace *vivace)
{
	double apart = vivace->rate * MBIT_PER_PACKET * 2 * PROBE_PART;
	double one = gain_of_pair(&vivace->probe[0]), other = gain_of_pair(&vivace->probe[2]);

	if ((one > 0 && other > 0) || (one < 0 && other < 0))
		climb(vivace, (one + other) / (PAIRS * apart));
	else
		hesitate(vivace);
}

static void
probe_on(struct cohort *flows, const struct ack *ack)
{
	struct vivace *vivace = &flows->vivace;
	struct vivace_interval *interval;

	if (vivace->sending >= VIVACE_PROBES) {
		if (!is_known(&vivace->probe[VIVACE_PROBES - 1], ack))
			return;
		decide(vivace);
		begin_probes(flows, ack->now);
		return;
	}
	interval = &vivace->probe[vivace->sending];
	if (!is_long_enough(vivace, interval, ack->now))
		return;
	interval->closed = ack->now;
	if (++vivace->sending < VIVACE_PROBES)
		open_interval(interval + 1, ack->now, interval[1].rate);
}

/* Doubles until the utility falls, then goes back (Allegro, section 3.2). */
static void
start_on(struct cohort *flows, const struct ack *ack)
{
	struct vivace *vivace = &flows->vivace;
	struct vivace_interval *interval = &vivace->probe[0];
	double utility;

	if (isinf(interval->closed) && is_long_enough(vivace, interval, ack->now))
		interval->closed = ack->now;
	if (!is_known(interval, ack))
		return;
	utility = utility_of(interval);
	if (utility > vivace->last_utility) {
		vivace->last_utility = utility;
		vivace->last_rate = vivace->rate;
		set_rate(vivace, 2 * vivace->rate * MBIT_PER_PACKET);
		open_interval(interval, ack->now, vivace->rate);
		return;
	}
	vivace->rate = vivace->last_rate;
	vivace->starting = false;
	begin_probes(flows, ack->now);
}

static void
apply(struct cohort *flows)
{
	struct vivace *vivace = &flows->vivace;
	double rate = vivace->rate;

	if (!vivace->starting && vivace->sending < VIVACE_PROBES)
		rate = vivace->probe[vivace->sending].rate;
	flows->pacing_rate = rate;
	flows->window = WINDOW_GAIN * rate * vivace->smoothed_rtt + INITIAL_PACKETS;
}

static void
vivace_start(struct cohort *flows, double now)
{
	struct vivace *vivace = &flows->vivace;

	*vivace = (struct vivace){.smoothed_rtt = flows->base_rtt,
				  .least_rtt = flows->base_rtt,
				  .last_utility = -INFINITY,
				  .starting = true};
	set_rate(vivace, INITIAL_PACKETS / flows->base_rtt * MBIT_PER_PACKET);
	vivace->last_rate = vivace->rate;
	open_interval(&vivace->probe[0], now, vivace->rate);
	apply(flows);
}

static void
vivace_on_ack(struct cohort *flows, const struct ack *ack)
{
	struct vivace *vivace = &flows->vivace;
	double missed = losses_draw(flows, ack->lost);

	for (int i = 0; i < VIVACE_PROBES; i++)
		account(&vivace->probe[i], ack, missed);
	if (ack->acked <= 0)
		return;
	vivace->smoothed_rtt = smoothed(vivace->smoothed_rtt, ack->rtt, ack->acked);
	vivace->least_rtt = smaller(vivace->least_rtt, ack->rtt);
	if (vivace->starting)
		start_on(flows, ack);
	else
		probe_on(flows, ack);
	apply(flows);
}

/* It estimates none; this is the smallest that was seen. */
static double
vivace_min_rtt(const struct cohort *flows)
{
	return flows->vivace.least_rtt;
}

const struct cca vivace_cca = {
	.name = "vivace",
	.start = vivace_start,
	.on_ack = vivace_on_ack,
	.min_rtt = vivace_min_rtt,
};
