/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The running data plane: packet loops side by side, each with lanes of its own. What runs it is linked beside it: live/ on a clock, with threads and
 * ports; virtual/ in virtual time, inside a guest's process, with neither. Both define what is
 * declared under "the driver's" below, and the functions of telemetry.h and io/wire.h.
 *
 * Threads, where there are any: each loop has a data thread, the first one's is the main thread. It
 * alone touches its struct loop and what there is of its lanes (lanes[], postcards[]); on a packet's
 * path two loops share nothing that either writes. The control thread answers the socket: it owns
 * the P4 tables and registers, and has a lane's data thread do the rest through its mailbox. The
 * postcard writers have their own rings (live/telemetry.c).
 */
#ifndef NASHBED_DATAPLANE_H
#define NASHBED_DATAPLANE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "core/lateness.h"
#include "io/wire.h"
#include "path/bottleneck.h"
#include "path/hold_ups.h"
#include "telemetry.h"

struct dataplane;
struct loop;

/* What the data plane does between its wires: it is the bottleneck, or the hosts' part beside a
 * switch that is. One file each: role_bottleneck.c, role_hosts.c.
 */
struct role_ops {
	/* Whether what is late on the way out is given back on the way back (path/hold_ups.h). */
	bool gives_back;
	int (*open)(struct loop *loop, struct failure *failure);
	void (*close)(struct loop *loop);

	/* Data thread. */
	void (*receive)(struct loop *loop, enum wire_id id, struct rte_mbuf **mbufs,
			const uint64_t *arrivals_ns, uint32_t n);
	void (*advance)(struct loop *loop, uint64_t now_ns);
	uint64_t (*next_event)(const struct loop *loop);
	void (*reset_lane)(struct loop *loop, uint32_t lane);
	/* What is scheduled in a lane begins at t0. */
	void (*begin_lane)(struct loop *loop, uint32_t lane, uint64_t t0_ns);
};

extern const struct role_ops role_bottleneck;
extern const struct role_ops role_hosts;

/* One request at a time from the control thread to the data thread, which serves it between two
 * rounds of its loop. The request is published by release and read by acquire; a semaphore reports
 * its completion.
 */
typedef int (*mailbox_request_t)(struct loop *loop, void *argument);

struct request {
	mailbox_request_t run;
	void *argument;
	int result;
	sem_t done;
};

struct mailbox {
	_Atomic(struct request *) pending;
	int wake_fd; /* an eventfd: a sleeping data thread waits on it */
};

/* Of each lane; on cache lines of its own, for the next lane is another loop's. */
struct lane_state {
	_Alignas(RTE_CACHE_LINE_SIZE) struct lateness lateness;
	uint64_t max_gap_ns; /* the longest time between two polls of the ports */
};

/* Counted by the loop that has the lane's postcards, which need not be the lane's. */
struct lane_postcards {
	_Alignas(RTE_CACHE_LINE_SIZE)
		uint64_t n; /* made by the bottleneck, or arrived from the switch */
};

struct echo;

struct loop_stats {
	uint64_t iterations;
	uint64_t busy;	  /* iterations with a frame in or out */
	uint64_t busy_ns; /* what iterations with a frame or an event took, by the clock */
	uint64_t max_gap_ns;
};

/* A packet loop and all that it alone touches. */
struct loop {
	struct dataplane *dp;
	struct lane_share share;
	struct rte_mempool *pool;
	struct pipeline *pipeline; /* role bottleneck; NULL in the other */
	struct bottleneck bottleneck;
	struct {
		struct delays delays;
		uint64_t bad_postcards; /* frames at the telemetry port that are none of a lane */
	} hosts;			/* role hosts */
	struct delays *delays;		/* the role's */
	struct wire wires[N_WIRES];	/* a queue of its own at each */
	struct hold_ups hold_ups;
	struct loop_stats stats;
	struct echo *echo; /* live/echo.h; NULL: the senders' host is not asked */
	struct mailbox mailbox;
};

struct dataplane {
	struct config config;
	uint64_t epoch_ns; /* CLOCK_MONOTONIC at switch time 0 */
	const struct role_ops *role;
	struct loop *loops; /* config.n_loops of them */
	struct telemetry *telemetry;
	struct lane_state *lanes;
	struct lane_postcards *postcards; /* per lane */
	atomic_bool stop;
};

/* Make the loops, with nothing in them yet. */
int dataplane_make_loops(struct dataplane *dp, struct failure *failure);

/* Start DPDK, each loop's role, the telemetry and the ports. The loops and their mailboxes are there
 * already.
 */
int dataplane_open(struct dataplane *dp, struct failure *failure);
void dataplane_close(struct dataplane *dp);

/* Whether a loop has a queue at a wire. */
bool loop_has_wire(const struct loop *loop, enum wire_id id);

/* The loop of a lane; that of its postcards, which is the first one where a switch sends them. */
struct loop *dataplane_loop(const struct dataplane *dp, uint32_t lane);
struct loop *dataplane_postcard_loop(const struct dataplane *dp, uint32_t lane);

/* A postcard to its lane's collector; context is the loop. */
void dataplane_postcard(void *context, uint32_t lane, const uint8_t *bytes);

/* Any thread, and signal handlers: end the loops and with them the program. */
void dataplane_stop(struct dataplane *dp);

/* The driver's, from here on: live/ and virtual/ both define it. */

/* How many packets go through P4 ingress together, at most. */
extern const uint32_t dataplane_ingress_burst;

/* Within which time a train's frames arrive (core/train.h). */
extern const uint64_t dataplane_train_instant_ns;

/* CLOCK_MONOTONIC of the hosts at which the switch clock is 0. */
uint64_t dataplane_epoch_ns(void);

/* Nanoseconds on the switch clock. */
uint64_t dataplane_now_ns(const struct dataplane *dp);

/* Send a frame now; lane is NO_LANE where it does not matter how late it is. */
void dataplane_send(struct loop *loop, enum wire_id id, struct rte_mbuf *mbuf, uint32_t lane,
		    uint64_t departure_ns);

/* Control thread: wait until the data thread has run it. Returns its result. */
int mailbox_call(struct mailbox *box, mailbox_request_t run, void *argument);

/* Any thread: end the data thread's sleep. Async-signal-safe. */
void mailbox_wake(const struct mailbox *box);

/* Where there are threads only: 0 or a negative errno. */
int mailbox_init(struct mailbox *box);
void mailbox_free(struct mailbox *box);

/* The same; data thread: run the pending request, if there is one. */
void mailbox_serve(struct mailbox *box, struct loop *loop);

#endif
