/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The running data plane. What runs it is linked beside it: live/ on a clock, with threads and
 * ports; virtual/ in virtual time, inside a guest's process, with neither. Both define what is
 * declared under "the driver's" below, and the functions of mailbox.h, telemetry.h and io/wire.h.
 *
 * Threads, where there are any: the main thread is the data thread: it alone touches the
 * bottleneck or the hosts' part, the wires' packets and lanes[]. The control thread answers the
 * socket: it owns the P4 tables and registers, and has the data thread do the rest through
 * the mailbox (mailbox.h: release on the way there, acquire on the way back).
 * The postcard writer has its own rings (live/telemetry.c).
 */
#ifndef NASHBED_DATAPLANE_H
#define NASHBED_DATAPLANE_H

#include <stdatomic.h>
#include <stdint.h>

#include "config/config.h"
#include "core/lateness.h"
#include "io/wire.h"
#include "mailbox.h"
#include "path/bottleneck.h"
#include "path/hold_ups.h"
#include "path/hosts.h"
#include "role.h"
#include "telemetry.h"

struct lane_state {
	struct lateness lateness;
	uint64_t max_gap_ns; /* the longest time between two polls of the ports */
	uint64_t postcards;  /* made by the bottleneck, or arrived from the switch */
};

struct echo;

struct loop_stats {
	uint64_t iterations;
	uint64_t busy;	  /* iterations with a frame in or out */
	uint64_t busy_ns; /* what iterations with a frame or an event took, by the clock */
	uint64_t max_gap_ns;
};

struct dataplane {
	struct config config;
	uint64_t epoch_ns; /* CLOCK_MONOTONIC at switch time 0 */
	struct rte_mempool *pool;
	const struct role_ops *role;
	struct pipeline *pipeline; /* role bottleneck; NULL in the other */
	struct bottleneck bottleneck;
	struct hosts hosts; /* role hosts */
	struct wire wires[N_WIRES];
	struct telemetry *telemetry;
	struct lane_state *lanes;
	struct hold_ups hold_ups;
	struct loop_stats loop;
	struct echo *echo; /* live/echo.h; NULL: the senders' host is not asked */
	struct mailbox mailbox;
	atomic_bool stop;
};

/* Start DPDK, the role, the telemetry and the ports. The mailbox is there already. */
int dataplane_open(struct dataplane *dp, struct failure *failure);
void dataplane_close(struct dataplane *dp);

/* The driver's: how many packets go through P4 ingress together, at most. */
extern const uint32_t dataplane_ingress_burst;

/* The driver's: within which time a train's frames arrive (core/train.h). */
extern const uint64_t dataplane_train_instant_ns;

/* The driver's: CLOCK_MONOTONIC of the hosts at which the switch clock is 0. */
uint64_t dataplane_epoch_ns(void);

/* The driver's: nanoseconds on the switch clock. */
uint64_t dataplane_now_ns(const struct dataplane *dp);

/* The driver's: send a frame now; lane is NO_LANE where it does not matter how late it is. */
void dataplane_send(struct dataplane *dp, enum wire_id id, struct rte_mbuf *mbuf, uint32_t lane,
		    uint64_t departure_ns);

/* A postcard to its lane's collector; context is the dataplane. */
void dataplane_postcard(void *context, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES]);

/* Any thread, and signal handlers: end the loop and with it the program. */
void dataplane_stop(struct dataplane *dp);

#endif
