/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the kernel knows about a flow (TCP_INFO), and what its CCA tells of
 * itself, into a record. A CCA tells by TCP_CC_INFO, as the kernel's BBR and our kernel modules
 * do, or in the socket's storage, where our CCAs of eBPF keep their state (hosts/cc).
 */
#ifndef FLOWS_TCP_SAMPLE_H
#define FLOWS_TCP_SAMPLE_H

#include <stddef.h>

#include "common/shared.h"
#include "config.h"
#include "uml/nashbed_flows.h"

/* How to read the state of one CCA. */
struct cca_state {
	const char *cc;
	int map;      /* of the sockets' storage; -1: TCP_CC_INFO */
	void *values; /* room for the whole state, which begins with struct cc_told */
};

struct cca_states {
	struct cca_state tcp_cc_info; /* of every CCA that has no storage */
	struct cca_state storage[CCA_STATES_MAX];
	size_t count;
};

int cca_states_open(struct cca_states *states, const struct config *config,
		    struct failure *failure);
void cca_states_close(struct cca_states *states);

/* How a connected socket's CCA tells of itself; NULL where it does not, which is seen once. */
const struct cca_state *cca_states_find(const struct cca_states *states, int fd, const char *cc);

/*
 * Fills in everything but flow and tick. What an older kernel does not report is 0, and so are the
 * fields of BBR where the CCA tells nothing. Returns 0 or a negative errno.
 */
int tcp_sample_read(int fd, const struct cca_state *state, struct flow_sample *sample);

/* The same, of what the guest's kernel has read. */
void tcp_sample_take(const struct nashbed_flows_sample *row, const struct cca_state *state,
		     struct flow_sample *sample);

#endif
