/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A port of a packet loop: an ethdev of any of the drivers, the frames that
 * wait to be sent by it, and counters of every kind of loss at it.
 */
#ifndef NASHBED_WIRE_H
#define NASHBED_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "common/failure.h"
#include "config/config.h"
#include "core/round_trips.h"

#define WIRE_BURST 64u
#define WIRE_PENDING 4096u
#define WIRE_FDS_MAX 8u
#define WIRE_ARGUMENT_BYTES 512

/* What the loop needs to know of a frame once it is sent. */
struct frame_note {
	uint32_t lane; /* NO_LANE: nothing */
	uint64_t departure_ns;
	struct round_trip_data data; /* to the receivers, where lateness is given back */
};

struct wire_stats {
	uint64_t rx_packets;
	uint64_t tx_packets;
	uint64_t rx_bytes;
	uint64_t tx_bytes;
	uint64_t rx_dropped; /* the driver's rings were full, or errors */
	uint64_t tx_dropped; /* by the driver, or because `pending` was full */
	uint64_t rx_no_mbuf;
	uint64_t rx_unstamped; /* at a port that stamps, without a sound stamp */
	uint64_t link_downs;   /* how often the link of a NIC was lost */
	/* AF_XDP: the kernel's counters of the socket's rings. */
	uint64_t xdp_rx_dropped;
	uint64_t xdp_rx_ring_full;
	uint64_t xdp_fill_ring_empty;
	uint64_t xdp_tx_invalid;
};

/* Whether a NIC may send PAUSE frames, and obeys them. */
enum pauses {
	PAUSES_UNKNOWN, /* its driver does not say */
	PAUSES_OFF,
};

/* What is known of a port that is a NIC. */
struct wire_nic {
	uint16_t mtu;
	enum pauses pauses;
	bool was_up; /* the watcher's */
	_Atomic uint64_t link_downs;
};

struct wire {
	enum wire_id id;
	enum driver driver;
	uint16_t ethdev;
	int fds[WIRE_FDS_MAX]; /* readable when frames have arrived; none for PCI */
	uint32_t n_fds;
	bool stamps;		  /* frames come with the time of their arrival */
	uint64_t last_arrival_ns; /* of those, so that they stay in order */
	uint64_t rx_unstamped;
	struct rte_mbuf *pending[WIRE_PENDING];
	struct frame_note notes[WIRE_PENDING];
	uint32_t n_pending;
	uint32_t n_taken;	   /* in virtual time: of those, taken by the caller */
	uint64_t tx_backlog_drops; /* frames dropped because `pending` was full */
	struct wire_nic nic;	   /* PCI only */
	struct wire_stats count;   /* in virtual time; else the driver counts */
};

/* The EAL's argument that creates or allows a loop's device, WIRE_ARGUMENT_BYTES at most. */
void wire_eal_argument(const struct wire_config *config, enum wire_id id, uint32_t loop, char *text,
		       size_t text_bytes);

/* Configure and start a loop's port. The failure names the device and the remedy. */
int wire_open(struct wire *wire, const struct wire_config *config, enum wire_id id, uint32_t loop,
	      struct rte_mempool *pool, struct failure *failure);
void wire_close(struct wire *wire);

/* When frames arrived, on the switch clock, of those that were just taken off it: by their stamps,
 * else now.
 */
void wire_arrivals(struct wire *wire, struct rte_mbuf *const *mbufs, uint32_t n, uint64_t epoch_ns,
		   uint64_t now_ns, uint64_t *arrivals_ns);

/* Queue one frame for sending; it is the wire's from here on. */
void wire_push(struct wire *wire, struct rte_mbuf *mbuf, struct frame_note note);

/* Send what is pending. Returns how many frames were sent: the first of notes[]. Call
 * wire_sent() afterwards.
 */
uint32_t wire_send(struct wire *wire);
void wire_sent(struct wire *wire, uint32_t n);

/* 0 or a negative errno. */
int wire_stats_get(const struct wire *wire, struct wire_stats *stats);

#endif
