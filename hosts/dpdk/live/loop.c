/* SPDX-License-Identifier: Apache-2.0 */
/* The only place on a packet's path that reads a clock. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_prefetch.h>

#include "common/clock.h"
#include "common/nanoseconds.h"
#include "echo.h"
#include "live.h"
#include "xdp/arrival.h"

#define HIGHEST_PRIORITY (-20)
/* A polling loop's rounds take microseconds: shorter gaps are not recorded. */
#define GAP_WORTH_NOTING_NS UINT64_C(50000)
/* A sleeping loop wakes up at least this often. */
#define SLEEP_MAX_NS UINT64_C(10000000)

const uint32_t dataplane_ingress_burst = PIPELINE_BURST;
/* A kernel's poll of up to 64 frames, each stamped by itself, takes less. */
const uint64_t dataplane_train_instant_ns = 100 * MICROSECOND_NS;

uint64_t
dataplane_epoch_ns(void)
{
	return (uint64_t)clock_now_ns();
}

uint64_t
dataplane_now_ns(const struct dataplane *dp)
{
	return (uint64_t)clock_now_ns() - dp->epoch_ns;
}

void
dataplane_send(struct loop *loop, enum wire_id id, struct rte_mbuf *mbuf, uint32_t lane,
	       uint64_t departure_ns)
{
	wire_push(&loop->wires[id], mbuf,
		  hold_ups_note(&loop->hold_ups, mbuf, id == WIRE_SENDERS, lane, departure_ns));
}

/* Frames were written by another core, and are in no cache of this one. */
static void
prefetch_headers(struct rte_mbuf *const *mbufs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);

		rte_prefetch0(frame - sizeof(struct arrival));
		rte_prefetch0(frame);
	}
}

/* What is left of frames that came: all but the answers of the senders' host. */
static uint32_t
take_echoes(struct loop *loop, const struct wire *wire, struct rte_mbuf **mbufs,
	    uint64_t *arrivals_ns, uint32_t n)
{
	if (loop->echo == NULL || wire->id != WIRE_SENDERS)
		return n;
	return echo_take(loop->echo, loop, mbufs, arrivals_ns, n);
}

/* What senders have in flight says whose acknowledgements tell how soon a host answers. */
static void
note_sent(struct loop *loop, enum wire_id id, struct rte_mbuf *const *mbufs, uint32_t n)
{
	if (id != WIRE_SENDERS)
		return;
	for (uint32_t i = 0; i < n; i++)
		hold_ups_came(&loop->hold_ups, mbufs[i]);
}

/* The clock is read once the frames are here: the time of arrival of those that nobody stamped.
 * An earlier time would cut their delay short by as long as this thread was held up in between.
 * now_ns is the last reading; without frames it is left alone.
 */
static uint32_t
receive(struct loop *loop, enum wire_id id, uint64_t *now_ns)
{
	struct wire *wire = &loop->wires[id];
	struct rte_mbuf *mbufs[WIRE_BURST];
	uint64_t arrivals_ns[WIRE_BURST];
	uint32_t total = 0, left;
	uint16_t n;

	do {
		n = rte_eth_rx_burst(wire->ethdev, 0, mbufs, WIRE_BURST);
		if (n > 0) {
			prefetch_headers(mbufs, n);
			*now_ns = dataplane_now_ns(loop->dp);
			wire_arrivals(wire, mbufs, n, loop->dp->epoch_ns, *now_ns, arrivals_ns);
			left = take_echoes(loop, wire, mbufs, arrivals_ns, n);
			note_sent(loop, id, mbufs, left);
			loop->dp->role->receive(loop, id, mbufs, arrivals_ns, left);
		}
		total += n;
	} while (n == WIRE_BURST && total < 4 * WIRE_BURST);
	return total;
}

/* A frame has left at last. */
static void
account_sent(struct loop *loop, const struct frame_note *note, bool to_senders, uint64_t now_ns)
{
	if (note->lane == NO_LANE)
		return;
	hold_ups_sent(&loop->hold_ups, note, to_senders, now_ns);
	if (!to_senders)
		lateness_add(&loop->dp->lanes[note->lane].lateness, now_ns - note->departure_ns);
}

static uint32_t
send_all(struct loop *loop, struct wire *wire)
{
	uint32_t n;
	uint64_t now_ns;

	if (wire->n_pending == 0)
		return 0;
	n = wire_send(wire);
	now_ns = dataplane_now_ns(loop->dp);
	for (uint32_t i = 0; i < n; i++)
		account_sent(loop, &wire->notes[i], wire->id == WIRE_SENDERS, now_ns);
	wire_sent(wire, n);
	return n;
}

/* The result of one round: receive, work off what is due, send. */
struct round {
	uint64_t now_ns; /* every event up to this time is done */
	bool worked;	 /* a frame came or went, or an event was due */
};

static struct round
one_round(struct loop *loop)
{
	uint32_t moved = 0;
	uint64_t now_ns;
	bool due;

	for (int id = 0; id < N_WIRES; id++)
		if (loop_has_wire(loop, (enum wire_id)id))
			moved += receive(loop, (enum wire_id)id, &now_ns);
	if (moved == 0)
		now_ns = dataplane_now_ns(loop->dp);
	due = loop->dp->role->next_event(loop) <= now_ns;
	loop->dp->role->advance(loop, now_ns);
	if (loop->echo != NULL)
		echo_ask(loop->echo, loop, now_ns);
	/* First the forward direction, then the reverse. */
	for (int id = N_WIRES - 1; id >= 0; id--)
		moved += send_all(loop, &loop->wires[id]);
	loop->stats.iterations++;
	if (moved > 0)
		loop->stats.busy++;
	return (struct round){.now_ns = now_ns, .worked = due || moved > 0};
}

/* A polling loop never leaves its core, so its busy time is the duration of the rounds
 * in which it worked. A round without work needs no second reading of the clock.
 * Returns the time at which this round ended.
 */
static uint64_t
account_busy(struct loop *loop, const struct round *round, uint64_t begin_ns)
{
	uint64_t end_ns;

	if (!round->worked)
		return round->now_ns;
	end_ns = dataplane_now_ns(loop->dp);
	loop->stats.busy_ns += end_ns - begin_ns;
	return end_ns;
}

/* The loop did not run. */
static void
note_gap(struct loop *loop, uint64_t from_ns, uint64_t gap_ns)
{
	if (gap_ns >= PAUSE_LEAST_NS)
		hold_ups_paused(&loop->hold_ups, from_ns, gap_ns);
	if (gap_ns > loop->stats.max_gap_ns)
		loop->stats.max_gap_ns = gap_ns;
	for (uint32_t lane = 0; lane < loop->dp->config.lanes; lane++)
		if (lane_share_has(&loop->share, lane) && gap_ns > loop->dp->lanes[lane].max_gap_ns)
			loop->dp->lanes[lane].max_gap_ns = gap_ns;
}

static uint32_t
add_wire_fds(const struct wire *wire, struct pollfd *fds, uint32_t n)
{
	for (uint32_t i = 0; i < wire->n_fds; i++)
		fds[n++] = (struct pollfd){.fd = wire->fds[i], .events = POLLIN};
	return n;
}

static void
drain_wake_ups(const struct loop *loop)
{
	uint64_t count;

	(void)!read(loop->mailbox.wake_fd, &count, sizeof(count));
}

/* Until the next event, a frame on a wire, or a request. Returns when it was to be awake at last. */
static uint64_t
sleep_until_event(const struct loop *loop)
{
	struct pollfd fds[N_WIRES * WIRE_FDS_MAX + 1];
	uint64_t now_ns = dataplane_now_ns(loop->dp);
	uint64_t next_ns = loop->dp->role->next_event(loop);
	uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	struct timespec timeout;
	uint32_t n = 1;

	if (wait_ns == 0)
		return now_ns;
	wait_ns = RTE_MIN(wait_ns, SLEEP_MAX_NS);
	timeout = (struct timespec){.tv_nsec = (long)wait_ns};
	fds[0] = (struct pollfd){.fd = loop->mailbox.wake_fd, .events = POLLIN};
	for (int id = 0; id < N_WIRES; id++)
		n = add_wire_fds(&loop->wires[id], fds, n);
	ppoll(fds, n, &timeout, NULL);
	drain_wake_ups(loop);
	return now_ns + wait_ns;
}

/* Other threads on this core get what this one leaves. A real-time class would
 * be worse: the kernel's throttle stops it for 50 ms in every second. Without
 * the right to raise itself the thread just runs, and its lateness shows.
 */
static void
raise_priority(void)
{
	FILE *autogroup;

	setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
	/* Where sessions are scheduled as groups it is the group's niceness that
	 * counts: it must be a group of our own.
	 */
	if (setsid() < 0 && getsid(0) != getpid())
		return;
	autogroup = fopen("/proc/self/autogroup", "w");
	if (autogroup == NULL)
		return;
	fprintf(autogroup, "%d", HIGHEST_PRIORITY);
	fclose(autogroup);
}

static int
run_loop(void *argument)
{
	struct loop *loop = argument;
	uint64_t before_ns = dataplane_now_ns(loop->dp);
	uint64_t begin_ns = before_ns;

	if (loop->wires[WIRE_SENDERS].stamps)
		loop->echo = echo_create(loop->dp->config.lanes);
	raise_priority();
	/* The default slack of 50 us would be the sleeping loop's lateness. */
	prctl(PR_SET_TIMERSLACK, 1);
	while (!atomic_load_explicit(&loop->dp->stop, memory_order_relaxed)) {
		struct round round = one_round(loop);

		begin_ns = account_busy(loop, &round, begin_ns);
		if (round.now_ns > before_ns + GAP_WORTH_NOTING_NS)
			note_gap(loop, before_ns, round.now_ns - before_ns);
		before_ns = round.now_ns;
		mailbox_serve(&loop->mailbox, loop);
		if (loop->dp->config.loop == LOOP_SLEEP) {
			/* A sleep is no pause; waking up later than was due is one. */
			before_ns = sleep_until_event(loop);
			begin_ns = dataplane_now_ns(loop->dp);
		}
	}
	echo_destroy(loop->echo);
	loop->echo = NULL;
	return 0;
}

void
loops_run(struct dataplane *dp)
{
	for (uint32_t i = 1; i < dp->config.n_loops; i++)
		rte_eal_remote_launch(run_loop, &dp->loops[i], dp->config.cores[i]);
	run_loop(&dp->loops[0]);
	rte_eal_mp_wait_lcore();
}
