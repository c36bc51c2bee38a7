/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's flows: a socket each, which is connected, sends bulk data and is sampled until it is
 * reset or breaks. The sender is one thread, so nothing of it is shared.
 */
#ifndef FLOWS_SENDER_FLOW_H
#define FLOWS_SENDER_FLOW_H

#include "common/record_file.h"
#include "common/shared.h"
#include "grid.h"
#include "session.h"
#include "tcp_sample.h"

struct sender_flow;

/* What all flows share. */
struct sender_flows {
	struct session session;
	unsigned int unsent_bytes; /* TCP_NOTSENT_LOWAT of every flow */
	struct cca_states states;
	struct sender_flow *flows; /* in the order of the configuration */
	size_t count;
	size_t in_advance; /* that are connected before t0; the others are transfers */
	size_t connected;  /* that have ever been */
	size_t ended;
	size_t lost;
	struct grid ticks; /* of sampling */
	struct lateness lateness;
	struct record_file samples;
	struct nashbed_flows_sample *rows; /* of a tick, where the guest's kernel reads them */
};

/* A flow is connected now. */
typedef int (*sender_flow_connected)(struct sender_flow *flow, void *owner, int64_t now_ns);

enum sender_flow_state {
	FLOW_IDLE, /* not connected yet */
	FLOW_CONNECTED,
	FLOW_RUNNING,
	FLOW_ENDED,
};

struct sender_flow {
	struct watch watch;
	struct sender_flows *all;
	const struct flow_config *config;
	const struct application *application; /* NULL: bulk data */
	void *user;			       /* what its application knows of it */
	enum sender_flow_state state;
	sender_flow_connected connected;
	void *owner;
	char cc_applied[CC_NAME_BYTES];
	bool has_ecn; /* both sides agreed on it */
	const struct cca_state *state_of_cc;
	int64_t connecting_ns; /* CLOCK_MONOTONIC; 0: did not happen */
	int64_t connected_ns;
	int64_t started_ns;
	int64_t ended_ns;
	uint64_t acked_by_handshake; /* the kernel counts the SYN as an acknowledged byte */
	uint32_t min_rtt_us;	     /* over all samples; UINT32_MAX: none */
	struct flow_sample last;
	int error; /* the errno that broke the connection, or 0 */
};

/* The flows of a configuration, without their sockets. Close them in any case. */
int sender_flows_open(struct sender_flows *all, const struct config *config,
		      struct failure *failure);
void sender_flows_close(struct sender_flows *all);

/* Whether it sends datagrams: then it has no connection and no TCP state. */
bool sender_flow_is_udp(const struct sender_flow *flow);

/* Whether its TCP state is read at each tick now. */
bool sender_flow_is_sampled(const struct sender_flow *flow);

/* Whether it ends when so many bytes have arrived. */
bool sender_flow_is_transfer(const struct sender_flow *flow);

/* Open a flow's socket. */
int sender_flow_open(struct sender_flow *flow);

/*
 * A transfer is connected: see to its CCA, and look what it is. Every system call counts here, where
 * a thousand transfers come in a second. `state` is that of another flow of the same CCA, or unknown.
 */
int sender_flow_adopt(struct sender_flow *flow, const struct cca_state *state, bool is_known,
		      int64_t now_ns);

/* The same without any system call: its CCA is read back by the caller. */
void sender_flow_adopt_plain(struct sender_flow *flow, const struct cca_state *state,
			     int64_t now_ns);

/* Open the sockets of all flows that are connected in advance. */
int sender_flows_open_sockets(struct sender_flows *all);

/* Begin to connect a flow; `connected` follows, unless the connection fails. */
int sender_flow_connect(struct sender_flow *flow, int64_t now_ns, sender_flow_connected connected,
			void *owner);

/* Begin to send bulk data. A connection that breaks from here on is a flow that is lost. */
int sender_flow_start(struct sender_flow *flow);

/* The same in two: it runs, but sends nothing; and it sends bulk data, or stops that. */
int sender_flow_begin(struct sender_flow *flow,
		      int (*ready)(struct watch *watch, uint32_t events, int64_t now_ns));
int sender_flow_send_bulk(struct sender_flow *flow, int64_t now_ns);
int sender_flow_pause_bulk(struct sender_flow *flow);

/* The connection is gone. */
int sender_flow_lose(struct sender_flow *flow, int error, int64_t now_ns);

/* At most this much is written at once, so that no flow waits long for its turn: zeros. */
#define WRITE_BYTES (128u << 10)
extern const char sender_flow_zeros[WRITE_BYTES];

/* Read the flow's TCP state and write it as the sample of a tick. */
int sender_flow_sample(struct sender_flow *flow, uint64_t tick);

/* The same of all running flows, with one call; only where all->rows is not NULL. */
int sender_flows_sample(struct sender_flows *all, uint64_t tick);

/* Reset the flow; its last sample gives the totals. */
int sender_flow_end(struct sender_flow *flow, int64_t now_ns);

/* Close it after its end was agreed upon, likewise. */
int sender_flow_finish(struct sender_flow *flow, int64_t now_ns);

/* Its time never came, or another connection did its part. */
void sender_flow_skip(struct sender_flow *flow);

/* Write the last sample, of a flow that has ended, as that of a tick. */
int sender_flow_record(struct sender_flow *flow, uint64_t tick);

#endif
