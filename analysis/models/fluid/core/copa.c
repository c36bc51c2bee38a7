// SPDX-License-Identifier: Apache-2.0
/*
 * Copa (Arun, Balakrishnan, NSDI 2018), as hosts/cc/copa.h has it: with its competitive mode, and in
 * its default mode only. hosts/cc/README.md has what the paper leaves open.
 */
#include "losses.h"
#include "smoothing.h"

#define INITIAL_WINDOW 10.0
#define LEAST_WINDOW 2.0
/* Windows of time: section 2 and 2.2; those of round trips are of so many at least. */
#define MIN_RTT_WINDOW 10.0
#define STANDING_PART 0.5
#define RTT_MAX_ROUNDS (16.0 / 3)
#define EMPTY_ROUNDS (20.0 / 3)
/* Section 2.2: below a tenth of RTT_max - RTT_min. */
#define NEARLY_EMPTY 0.1
/* 1/delta in default mode: section 2. */
#define PACKETS_DEFAULT 2.0
#define PACKETS_MOST 4096.0
/* Round trips until velocity doubles: section 2.1. */
#define SAME_DIRECTION 3
/* More than 30 % of at least 20 packets lost: the window is cut to 70 % (genericCC). */
#define HEAVY_LOSS 0.3
#define HEAVY_LOSS_PACKETS 20.0
#define HEAVY_LOSS_CUT 0.7
/* Section 2.1: no bursts, and the window governs. */
#define PACING_GAIN 2.0

static double
queue_of(const struct copa *copa)
{
	return larger(0, sliding_min_get(&copa->standing) - sliding_min_get(&copa->min_rtt));
}

static void
measure_first(struct copa *copa, const struct ack *ack)
{
	sliding_min_reset(&copa->min_rtt, ack->now, ack->rtt);
	sliding_min_reset(&copa->standing, ack->now, ack->rtt);
	sliding_min_reset(&copa->max_rtt, ack->now, -ack->rtt);
	sliding_min_reset(&copa->least_queue, ack->now, 0);
	copa->smoothed_rtt = ack->rtt;
	copa->measured = true;
}

static void
measure(struct copa *copa, const struct ack *ack)
{
	double srtt;

	if (!copa->measured)
		measure_first(copa, ack);
	srtt = copa->smoothed_rtt = smoothed(copa->smoothed_rtt, ack->rtt, ack->acked);
	sliding_min_add(&copa->min_rtt, ack->now, MIN_RTT_WINDOW, ack->rtt);
	sliding_min_add(&copa->standing, ack->now, STANDING_PART * srtt, ack->rtt);
	sliding_min_add(&copa->max_rtt, ack->now, RTT_MAX_ROUNDS * srtt, -ack->rtt);
	sliding_min_add(&copa->least_queue, ack->now, EMPTY_ROUNDS * srtt, queue_of(copa));
}

/* Somebody fills the queue: it was never nearly empty in five round trips (section 2.2). */
static bool
is_queue_kept(const struct copa *copa)
{
	double swing = -sliding_min_get(&copa->max_rtt) - sliding_min_get(&copa->min_rtt);

	return sliding_min_get(&copa->least_queue) > NEARLY_EMPTY * swing;
}

/* The rate window/standing is not above the target 1/(delta queue). */
static bool
is_below_target(const struct copa *copa)
{
	return copa->window * queue_of(copa) <= copa->packets * sliding_min_get(&copa->standing);
}

/* 1/delta is a packet more each round trip, and half after a loss; in default mode it is fixed. */
static void
choose_delta(struct copa *copa)
{
	copa->competitive = copa->competes && !copa->slow_start && is_queue_kept(copa);
	if (!copa->competitive)
		copa->packets = PACKETS_DEFAULT;
	else if (copa->missed_in_round)
		copa->packets = larger(floor(copa->packets / 2), PACKETS_DEFAULT);
	else
		copa->packets = smaller(copa->packets + 1, PACKETS_MOST);
	copa->missed_in_round = false;
}

static void
turn(struct copa *copa, bool up)
{
	copa->up = up;
	copa->same = 0;
	copa->velocity = 1;
}

/* Twice as fast after three round trips in one direction; the window at most doubles or halves. */
static void
choose_velocity(struct copa *copa)
{
	bool up = copa->window > copa->window_at_round_start;
	double most = floor((up ? copa->window : copa->window / 2) / copa->packets);

	if (up != copa->up) {
		turn(copa, up);
		return;
	}
	copa->same += 1;
	if (copa->same >= SAME_DIRECTION)
		copa->velocity = larger(1, smaller(2 * copa->velocity, most));
}

/* A queue that overflows for good is not emptied by its delay alone. */
static void
judge_losses(struct copa *copa)
{
	double all = copa->acked + copa->missed;

	if (all < HEAVY_LOSS_PACKETS)
		return;
	if (copa->missed > HEAVY_LOSS * all)
		copa->window *= HEAVY_LOSS_CUT;
	copa->acked = 0;
	copa->missed = 0;
}

static void
begin_round(struct cohort *flows, double now)
{
	flows->round_start = now;
	flows->copa.window_at_round_start = flows->copa.window;
}

/* Within a round, what was meant for the other direction would overshoot (mvfst). */
static void
turn_at_once(struct cohort *flows, double now, bool up)
{
	turn(&flows->copa, up);
	begin_round(flows, now);
}

/* What the delay tells now is of the window a round trip ago, which was half of it. */
static void
leave_slow_start(struct cohort *flows, double now)
{
	struct copa *copa = &flows->copa;

	copa->slow_start = false;
	copa->window = smaller(copa->window, copa->window_at_round_start);
	turn_at_once(flows, now, false);
}

static void
move_window(struct cohort *flows, const struct ack *ack)
{
	struct copa *copa = &flows->copa;
	bool below = is_below_target(copa);
	bool limited = flows->in_flight + ack->acked + ack->lost + 1 >= flows->window;
	double step = copa->velocity * copa->packets * ack->acked / copa->window;

	if (copa->slow_start && !below)
		leave_slow_start(flows, ack->now);
	if (copa->slow_start)
		step = ack->acked;
	else if (below != copa->up && copa->velocity > 1)
		turn_at_once(flows, ack->now, below);
	if (!below)
		copa->window -= smaller(step, copa->window);
	else if (limited)
		copa->window += step;
}

static void
apply(struct cohort *flows)
{
	struct copa *copa = &flows->copa;

	copa->window = larger(LEAST_WINDOW, smaller(copa->window, flows->most_window));
	flows->window = floor(copa->window);
	flows->pacing_rate = PACING_GAIN * copa->window / sliding_min_get(&copa->standing);
}

static void
copa_on_ack(struct cohort *flows, const struct ack *ack)
{
	struct copa *copa = &flows->copa;
	double missed = losses_draw(flows, ack->lost);

	copa->acked += ack->acked;
	copa->missed += missed;
	copa->missed_in_round = copa->missed_in_round || missed > 0;
	if (ack->acked <= 0)
		return;
	measure(copa, ack);
	if (ack->round) {
		choose_delta(copa);
		judge_losses(copa);
		if (!copa->slow_start)
			choose_velocity(copa);
		begin_round(flows, ack->now);
	}
	if (copa->slow_start && missed > 0)
		leave_slow_start(flows, ack->now);
	move_window(flows, ack);
	apply(flows);
}

static void
begin(struct cohort *flows, double now, bool competes)
{
	flows->copa = (struct copa){.competes = competes,
				    .window = INITIAL_WINDOW,
				    .packets = PACKETS_DEFAULT,
				    .velocity = 1,
				    .up = true,
				    .slow_start = true};
	flows->window = INITIAL_WINDOW;
	flows->pacing_rate = PACING_GAIN * INITIAL_WINDOW / flows->base_rtt;
	begin_round(flows, now);
}

static void
copa_start(struct cohort *flows, double now)
{
	begin(flows, now, true);
}

static void
copa_default_start(struct cohort *flows, double now)
{
	begin(flows, now, false);
}

static double
copa_min_rtt(const struct cohort *flows)
{
	return flows->copa.measured ? sliding_min_get(&flows->copa.min_rtt) : flows->base_rtt;
}

const struct cca copa_cca = {
	.name = "copa",
	.start = copa_start,
	.on_ack = copa_on_ack,
	.min_rtt = copa_min_rtt,
};

const struct cca copa_default_cca = {
	.name = "copa_default",
	.start = copa_default_start,
	.on_ack = copa_on_ack,
	.min_rtt = copa_min_rtt,
};
