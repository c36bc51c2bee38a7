/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the kernel knows about a flow (TCP_INFO) and what its congestion control tells of itself
 * into a record.
 */
#ifndef FLOWS_TCP_SAMPLE_H
#define FLOWS_TCP_SAMPLE_H

#include <stdbool.h>

#include "common/shared.h"
#include "control_state.h"

/*
 * Fills in everything but flow and tick. What an older kernel does not report is 0, and so are the
 * fields of BBR where the control tells nothing. Returns 0 or a negative errno.
 */
int tcp_sample_read(int fd, const struct control_state *state, struct flow_sample *sample);

#endif
