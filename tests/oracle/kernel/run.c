/* SPDX-License-Identifier: GPL-2.0-only */
/* A line of an exact rate before one of Linux's queue disciplines, in virtual time.
 *
 * As the kernel has it with a device that stops its queue while it sends: the qdisc is asked for
 * a packet when the last one has been serialised, and when a packet comes while the line is idle.
 * At one instant timers come first, then the end of a packet, then arrivals.
 */
#include "kernel.h"

#define TIMERS 4
#define NEVER UINT64_MAX
#define PRIVATE_BYTES 65536

struct arrival {
	u64 ns;
	u32 bytes;
	u32 hash;
	u32 truesize;
	u32 ecn;
};

struct outcome {
	u64 decided_ns; /* first bit sent, or dropped */
	u64 departure_ns;
	u8 dropped, reason, marked, spare;
	u32 order; /* of departures */
};

struct setup {
	const struct Qdisc_ops *ops;
	struct nlattr *options;		   /* may be NULL */
	const struct Qdisc_ops *inner_ops; /* of a qdisc in the other; NULL: its own */
	struct nlattr *inner_options;	   /* may be NULL */
	u64 rate_bps;
	u64 epoch_ns; /* the kernel's clock at the caller's 0 */
	u64 seed;
	u64 hz;
	u32 mtu;
	u32 overhead_bytes;
	u32 is_exact; /* timers come when they are due, not at the tick after */
	u32 bypasses; /* a packet that finds no other waiting goes past the qdisc */
};

struct pending {
	const void *timer;
	bool is_hrtimer;
	u64 at_ns;
};

static struct {
	const struct setup *setup;
	u64 now_ns; /* the kernel's */
	u64 random;
	u64 draws;
	struct pending timers[TIMERS];
	struct Qdisc *root;
	struct sk_buff *sending;
	struct sk_buff *past;	/* waits for the line, past the qdisc */
	u64 free_ns, free_part; /* when the line is free: ns + part / rate, the kernel's time */
	u32 sent;
} run;

struct net_device oracle_device;
struct Qdisc noop_qdisc;

u64
oracle_now_ns(void)
{
	return run.now_ns;
}

u64
oracle_hz(void)
{
	return run.setup->hz;
}

/* SplitMix64, as in hosts/dpdk/core/prng.h: the same draws on both sides. */
u64
oracle_random(void)
{
	u64 z = (run.random += UINT64_C(0x9e3779b97f4a7c15));

	run.draws++;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void
oracle_forget_timer(const void *timer)
{
	for (int i = 0; i < TIMERS; i++)
		if (run.timers[i].timer == timer)
			run.timers[i].timer = NULL;
}

static void
set(const void *timer, bool is_hrtimer, u64 at_ns)
{
	oracle_forget_timer(timer);
	for (int i = 0; i < TIMERS; i++)
		if (run.timers[i].timer == NULL) {
			run.timers[i] = (struct pending){timer, is_hrtimer, at_ns};
			return;
		}
	abort();
}

/* The kernel's timer wheel never fires early, so it fires with the tick after the one asked for. */
void
oracle_set_timer(struct timer_list *timer, u64 jiffy)
{
	u64 hz = run.setup->hz;
	u64 at_ns = (jiffy + 1) * NSEC_PER_SEC / hz;

	if (run.setup->is_exact)
		at_ns = run.now_ns + (jiffy - jiffies) * NSEC_PER_SEC / hz;
	set(timer, false, at_ns);
}

void
oracle_set_hrtimer(struct hrtimer *timer, u64 at_ns)
{
	set(timer, true, at_ns);
}

static void
fire(struct pending due)
{
	run.now_ns = due.at_ns;
	oracle_forget_timer(due.timer);
	if (!due.is_hrtimer) {
		struct timer_list *timer = (struct timer_list *)due.timer;

		timer->function(timer);
	} else {
		struct hrtimer *timer = (struct hrtimer *)due.timer;

		if (timer->function(timer) == HRTIMER_RESTART)
			set(timer, true, (u64)timer->expires);
	}
}

static struct pending
next_timer(void)
{
	struct pending first = {.at_ns = NEVER};

	for (int i = 0; i < TIMERS; i++)
		if (run.timers[i].timer != NULL && run.timers[i].at_ns < first.at_ns)
			first = run.timers[i];
	return first;
}

struct Qdisc *
qdisc_create_dflt(void *queue, const struct Qdisc_ops *ops, u32 parent,
		  struct netlink_ext_ack *extack)
{
	struct Qdisc *sch = aligned_alloc(64, sizeof(*sch) + PRIVATE_BYTES);

	if (ops->priv_size > PRIVATE_BYTES)
		abort();
	memset(sch, 0, sizeof(*sch) + PRIVATE_BYTES);
	sch->ops = ops;
	sch->enqueue = ops->enqueue;
	sch->dequeue = ops->dequeue;
	sch->device = &oracle_device;
	sch->dev_queue = queue;
	sch->parent = parent;
	if (parent != 0 && ops->init(sch, NULL, extack) < 0)
		abort();
	return sch;
}

void
qdisc_put(struct Qdisc *sch)
{
	if (sch == &noop_qdisc)
		return;
	if (sch->ops->destroy)
		sch->ops->destroy(sch);
	free(sch);
}

/* What went past the qdisc waits in front of it, and is counted in it. */
static struct sk_buff *
next_packet(void)
{
	struct sk_buff *skb = run.past;

	if (skb == NULL)
		return run.root->dequeue(run.root);
	run.past = NULL;
	qdisc_qlen_dec(run.root);
	qdisc_qstats_backlog_dec(run.root, skb);
	return skb;
}

static void
go_past(struct sk_buff *skb)
{
	run.past = skb;
	qdisc_qlen_inc(run.root);
	qdisc_qstats_backlog_inc(run.root, skb);
}

/* Ask for the next packet, and begin to send it. */
static void
send_next(void)
{
	struct sk_buff *skb = next_packet();
	u64 bits, parts;

	run.sending = skb;
	if (skb == NULL)
		return;
	skb->fate_ns = run.now_ns;
	if (run.now_ns > run.free_ns) {
		run.free_ns = run.now_ns;
		run.free_part = 0;
	}
	bits = 8 * ((u64)skb->len + run.setup->overhead_bytes);
	parts = bits * NSEC_PER_SEC + run.free_part;
	run.free_ns += parts / run.setup->rate_bps;
	run.free_part = parts % run.setup->rate_bps;
}

enum hrtimer_restart
oracle_watch(struct hrtimer *timer)
{
	(void)timer;
	if (run.sending == NULL)
		send_next();
	return HRTIMER_NORESTART;
}

/* Whether the qdisc waits for a time to be asked. */
static bool
is_watched(void)
{
	for (int i = 0; i < TIMERS; i++) {
		const struct pending *each = &run.timers[i];

		if (each->timer != NULL && each->is_hrtimer &&
		    ((const struct hrtimer *)each->timer)->function == oracle_watch)
			return true;
	}
	return false;
}

/* A qdisc in another one has dropped what that one counts. */
void
oracle_reduce_backlog(struct Qdisc *sch, u32 packets, u32 bytes)
{
	if (sch == run.root)
		return;
	run.root->q.qlen -= packets;
	run.root->qstats.backlog -= bytes;
}

static void
end_of_packet(struct outcome *outcomes, const struct sk_buff *packets)
{
	struct outcome *mine = &outcomes[run.sending - packets];

	run.now_ns = run.free_ns;
	run.sending->fate = FATE_SENT;
	mine->departure_ns = run.now_ns - run.setup->epoch_ns;
	mine->order = run.sent++;
	send_next();
}

/* All that happens up to a time, that included. */
static void
until(u64 ns, struct outcome *outcomes, const struct sk_buff *packets)
{
	for (;;) {
		struct pending timer = next_timer();
		u64 end_ns = run.sending ? run.free_ns : NEVER;

		if (timer.at_ns <= end_ns && timer.at_ns <= ns)
			fire(timer);
		else if (end_ns <= ns)
			end_of_packet(outcomes, packets);
		else
			return;
	}
}

static void
arrive(struct sk_buff *skb, const struct arrival *arrival)
{
	struct sk_buff *to_free = NULL;

	run.now_ns = arrival->ns + run.setup->epoch_ns;
	*skb = (struct sk_buff){.len = arrival->bytes,
				.truesize = arrival->truesize,
				.hash = arrival->hash,
				.ecn = (u8)arrival->ecn};
	qdisc_skb_cb(skb)->pkt_len = arrival->bytes;
	qdisc_skb_cb(skb)->pkt_segs = 1;
	if (run.setup->bypasses && (run.root->flags & TCQ_F_CAN_BYPASS) &&
	    qdisc_qlen(run.root) == 0)
		go_past(skb);
	else
		run.root->enqueue(skb, run.root, &to_free);
	if (run.sending == NULL)
		send_next();
}

static void
finish(struct outcome *outcome, const struct sk_buff *skb)
{
	outcome->decided_ns = skb->fate_ns - run.setup->epoch_ns;
	outcome->dropped = skb->fate == FATE_DROPPED;
	outcome->reason = skb->reason;
	outcome->marked = skb->marked && !outcome->dropped;
	if (outcome->dropped)
		outcome->departure_ns = outcome->decided_ns;
}

static int
init(const struct setup *setup)
{
	int error;

	run.root = qdisc_create_dflt(NULL, setup->ops, 0, NULL);
	error = setup->ops->init(run.root, setup->options, NULL);
	if (error == 0 && setup->inner_ops != NULL) {
		struct Qdisc *inner = qdisc_create_dflt(NULL, setup->inner_ops, 0, NULL), *old;

		error = setup->inner_ops->init(inner, setup->inner_options, NULL);
		setup->ops->cl_ops->graft(run.root, 1, inner, &old, NULL);
		qdisc_put(old);
	}
	return error;
}

/* Arrivals in the order of their times; 0, or what the qdisc said to its options. Everything that
 * waits at the end is sent.
 */
int
oracle_run(const struct setup *setup, const struct arrival *arrivals, size_t n,
	   struct outcome *outcomes, u64 *draws)
{
	struct sk_buff *packets = calloc(n, sizeof(*packets));
	int error;

	memset(&run, 0, sizeof(run));
	run.setup = setup;
	run.now_ns = setup->epoch_ns;
	run.random = setup->seed;
	oracle_device = (struct net_device){.mtu = setup->mtu, .tx_queue_len = 1000};
	noop_qdisc.ops = setup->ops;
	error = init(setup);
	for (size_t i = 0; i < n && error == 0; i++) {
		until(arrivals[i].ns + setup->epoch_ns, outcomes, packets);
		arrive(&packets[i], &arrivals[i]);
	}
	while (error == 0 && (run.sending != NULL || is_watched()))
		until(run.sending != NULL ? run.free_ns : next_timer().at_ns, outcomes, packets);
	for (size_t i = 0; i < n && error == 0; i++)
		finish(&outcomes[i], &packets[i]);
	*draws = run.draws;
	qdisc_put(run.root);
	free(packets);
	return error;
}
