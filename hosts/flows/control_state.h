/* SPDX-License-Identifier: Apache-2.0 */
/* What a flow's congestion control tells of itself: by TCP_CC_INFO, as the kernel's BBR and our kernel
 * modules do, or in the socket's storage, where our controls of eBPF keep their state (hosts/cc).
 */
#ifndef FLOWS_CONTROL_STATE_H
#define FLOWS_CONTROL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "cc/cc_told.h"
#include "config.h"

/* How to read it of one congestion control. */
struct control_state {
	const char *cc;
	int map;      /* of the sockets' storage; -1: TCP_CC_INFO */
	void *values; /* room for the whole state, which begins with struct cc_told */
};

struct control_states {
	struct control_state tcp_cc_info; /* of every control that has no storage */
	struct control_state storage[CONTROL_STATES_MAX];
	size_t count;
};

int control_states_open(struct control_states *states, const struct config *config,
			struct failure *failure);
void control_states_close(struct control_states *states);

/* How a connected socket's control tells of itself; NULL where it does not, which is seen once. */
const struct control_state *control_states_find(const struct control_states *states, int fd,
						const char *cc);

/* False where the control tells nothing. */
bool control_state_read(const struct control_state *state, int fd, struct cc_told *told);

#endif
