/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Random early detection (Floyd and Jacobson 1993) by bytes that wait, as Linux's sch_red with
 * what tc computes for it: the average has a weight of 2^-Wlog, and while the line is idle it
 * decays by a table of 255 steps, by tc's natural logarithm but in powers of two. Packets between
 * two marks are spread evenly, by one draw for each mark.
 *
 * Linux has no "gentle" (Floyd 2000): from max to 2 max the probability rises to 1.
 */
#include "core/parameters.h"

#define WEIGHT_LOG_MAX 31
#define TABLE_SIZE 256
#define TABLE_LAST (TABLE_SIZE - 1)
#define SHIFT_MAX 31
#define CELLS_MAX 512
#define US_PER_SECOND 1e6
#define US_NS 1000u
#define SERIES_TERMS 64
#define NOT_COUNTING (-1)

struct red {
	struct fifo packets; /* of struct queue_packet */
	struct red_config config;
	int weight_log;
	int cell_log;	     /* of the table, whose steps are of 2^cell_log us */
	uint32_t max_p;	     /* of 2^32 */
	uint32_t max_p_step; /* of 2^32, for each byte above min */
	uint64_t min, max;   /* as the average */
	uint8_t shifts[TABLE_SIZE];
	uint64_t prng;
	uint64_t average; /* bytes times 2^weight_log */
	int64_t count;	  /* packets since the last mark */
	uint32_t draw;
	bool is_idle;
	uint64_t idle_since_ns;
};

enum action {
	ACTION_NONE,
	ACTION_MARK,
	ACTION_FORCED,
};

static double
power(double base, uint64_t exponent)
{
	double result = 1;

	for (; exponent > 0; exponent >>= 1, base *= base)
		if (exponent & 1)
			result *= base;
	return result;
}

/* tc_red_eval_ewma(): the largest weight with which a burst raises the average to min at most; 0
 * when there is none.
 */
static int
weight_log_of(const struct red_config *c)
{
	double a = (double)c->burst + 1 - (double)c->min_bytes / (double)c->avpkt_bytes;
	double weight = 0.5;

	if (a < 1)
		return 0;
	for (int log = 1; log <= WEIGHT_LOG_MAX; log++, weight /= 2)
		if (a <= (1 - power(1 - weight, c->burst)) / weight)
			return log;
	return 0;
}

static const char *
check(void *config, const struct aqm_line *line)
{
	struct red_config *c = config;
	uint64_t limit =
		line->limit_bytes ? line->limit_bytes : line->limit_packets * c->avpkt_bytes;

	if (c->max_bytes == 0)
		c->max_bytes = limit / 4 > 0 ? limit / 4 : 1;
	if (c->min_bytes == 0)
		c->min_bytes = c->max_bytes / 3 > 0 ? c->max_bytes / 3 : 1;
	if (c->min_bytes > c->max_bytes)
		return "min is above max";
	if (c->min_bytes < c->avpkt_bytes)
		return "min is below avpkt: a burst of one would pass it";
	if (c->burst == 0) {
		c->burst = (2 * c->min_bytes + c->max_bytes) / (3 * c->avpkt_bytes);
		/* tc refuses what a small buffer comes to. */
		if (c->burst * c->avpkt_bytes < c->min_bytes || c->burst == 0)
			c->burst = c->min_bytes / c->avpkt_bytes + 1;
	}
	return weight_log_of(c) > 0 ? NULL : "burst is too small for min and avpkt, or too large";
}

/* -log(1 - x), of which the last bit is the same everywhere. */
static double
log_of_rest(double x)
{
	double sum = 0, term = x;

	for (int k = 1; k <= SERIES_TERMS; k++, term *= x)
		sum += term / k;
	return sum;
}

/* tc_red_eval_idle_damping() */
static void
make_table(struct red *r, uint64_t rate_bps)
{
	double packet_us = (double)r->config.avpkt_bytes * 8 * US_PER_SECOND / (double)rate_bps;
	double per_us = log_of_rest(1.0 / (double)(UINT64_C(1) << r->weight_log)) / packet_us;

	while (r->cell_log < WEIGHT_LOG_MAX &&
	       SHIFT_MAX / per_us / (double)(UINT64_C(1) << r->cell_log) >= CELLS_MAX)
		r->cell_log++;
	for (uint64_t i = 1; i < TABLE_LAST; i++) {
		double shift = (double)(i << r->cell_log) * per_us;

		r->shifts[i] = shift < SHIFT_MAX ? (uint8_t)shift : SHIFT_MAX;
	}
	r->shifts[TABLE_LAST] = SHIFT_MAX;
}

static int
init(void *state, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct red *r = state;
	double max_p;
	uint64_t range;

	r->config = *(const struct red_config *)config;
	r->weight_log = weight_log_of(&r->config);
	range = r->config.max_bytes - r->config.min_bytes;
	max_p = r->config.probability * 0x1p32;
	r->max_p = max_p < UINT32_MAX ? (uint32_t)max_p : UINT32_MAX;
	r->max_p_step = r->max_p / (uint32_t)(range > 0 ? range : 1);
	if (r->max_p_step == 0)
		r->max_p_step = 1;
	r->min = r->config.min_bytes << r->weight_log;
	r->max = r->config.max_bytes << r->weight_log;
	make_table(r, line->rate_bps);
	r->prng = seed;
	r->count = NOT_COUNTING;
	r->is_idle = true;
	fifo_init(&r->packets, sizeof(struct queue_packet));
	return 0;
}

/* The average after an idle time: a power of two of it, or linear within the first step. */
static uint64_t
decayed(const struct red *r, uint64_t idle_ns)
{
	uint64_t longest = (uint64_t)TABLE_LAST << r->cell_log;
	uint64_t us = idle_ns / US_NS < longest ? idle_ns / US_NS : longest;
	uint8_t shift = r->shifts[us >> r->cell_log];
	uint64_t less;

	if (shift > 0)
		return r->average >> shift;
	less = r->average * us >> r->cell_log;
	return less < r->average >> 1 ? r->average - less : r->average >> 1;
}

static void
update_average(struct red *r, uint64_t bytes, uint64_t now_ns)
{
	if (r->is_idle)
		r->average = decayed(r, now_ns - r->idle_since_ns);
	else
		r->average += bytes - (r->average >> r->weight_log);
	r->is_idle = false;
}

static void
draw(struct red *r)
{
	r->draw = (uint32_t)(prng_next(&r->prng) >> 32);
}

/* probability * count against the draw, as Linux has it without a division for each packet. */
static bool
is_due(const struct red *r)
{
	uint64_t above = (r->average - r->min) >> r->weight_log;

	return above * (uint64_t)r->count >= r->draw / r->max_p_step;
}

static bool
is_due_above_max(const struct red *r)
{
	uint64_t above = (r->average - r->max) >> r->weight_log;
	uint64_t p = r->max_p + (UINT32_MAX - r->max_p) * above / r->config.max_bytes;

	return p * (uint64_t)r->count >= r->draw;
}

/* Of the first packet since a mark, or since the average was below min, only the draw. */
static enum action
spread(struct red *r, bool (*is_due_now)(const struct red *))
{
	if (++r->count == 0) {
		draw(r);
		return ACTION_NONE;
	}
	if (!is_due_now(r))
		return ACTION_NONE;
	r->count = 0;
	draw(r);
	return ACTION_MARK;
}

static enum action
decide(struct red *r)
{
	if (r->average < r->min) {
		r->count = NOT_COUNTING;
		return ACTION_NONE;
	}
	if (r->average < r->max)
		return spread(r, is_due);
	if (r->config.gentle && r->average < 2 * r->max)
		return spread(r, is_due_above_max);
	r->count = NOT_COUNTING;
	return ACTION_FORCED;
}

/* Whether the packet may stay, perhaps with a mark. */
static bool
admits(struct red *r, const struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	enum action action;
	bool may_mark;

	update_average(r, line->bytes, now_ns);
	action = decide(r);
	may_mark = r->config.ecn && !(action == ACTION_FORCED && r->config.harddrop);
	if (action == ACTION_NONE || (may_mark && aqm_mark(packet)))
		return true;
	packet->reason = DROP_EARLY;
	return false;
}

static bool
enqueue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct red *r = state;

	return admits(r, line, packet, now_ns) && aqm_push(&r->packets, packet);
}

/* The average is of all arrivals, and the discipline decides before the limit does. */
static void
refused(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	admits(state, line, packet, now_ns);
}

static bool
dequeue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct red *r = state;

	if (aqm_pop(&r->packets, packet))
		return true;
	if (!r->is_idle)
		r->idle_since_ns = now_ns;
	r->is_idle = true;
	return false;
}

const struct aqm_ops red_ops = {
	.abi = AQM_ABI,
	.name = "red",
	.help = "Random early detection (Floyd and Jacobson 1993; Linux's sch_red)",
	.params = red_params,
	.config_bytes = sizeof(struct red_config),
	.state_bytes = sizeof(struct red),
	.check = check,
	.init = init,
	.fini = aqm_free_queue,
	.enqueue = enqueue,
	.dequeue = dequeue,
	.refused = refused,
};
