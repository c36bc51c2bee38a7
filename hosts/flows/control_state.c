/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "control_state.h"

#define GAIN_BITS 24 /* of bbr_cwnd_gain; above them our kernel modules have the mode */

static bool
read_cc_info(int fd, struct cc_told *told)
{
	union tcp_cc_info info = {0};
	socklen_t length = sizeof(info);

	/* What other controls report is shorter than BBR's. */
	if (getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &info, &length) < 0 ||
	    length < sizeof(info.bbr))
		return false;
	*told = (struct cc_told){
		.bw = (uint64_t)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo,
		.min_rtt_us = info.bbr.bbr_min_rtt,
		.pacing_gain = (uint16_t)info.bbr.bbr_pacing_gain,
		.cwnd_gain = (uint16_t)info.bbr.bbr_cwnd_gain,
		.mode = info.bbr.bbr_cwnd_gain >> GAIN_BITS,
	};
	return true;
}

bool
control_state_read(const struct control_state *state, int fd, struct cc_told *told)
{
	if (state == NULL)
		return false;
	if (state->map < 0)
		return read_cc_info(fd, told);
	if (bpf_map_lookup_elem(state->map, &fd, state->values) < 0)
		return false;
	memcpy(told, state->values, sizeof(*told));
	return true;
}

static int
open_storage(struct control_state *state, const struct control_state_config *config,
	     struct failure *failure)
{
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);

	state->cc = config->cc;
	state->map = bpf_map_get_fd_by_id(config->map_id);
	if (state->map < 0 || bpf_obj_get_info_by_fd(state->map, &info, &bytes) < 0)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "%s: its state cannot be read (eBPF map %u): %s", config->cc,
				   config->map_id, strerror(errno));
	if (info.type != BPF_MAP_TYPE_SK_STORAGE || info.value_size < sizeof(struct cc_told))
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: eBPF map %u is no state of a congestion control",
				   config->cc, config->map_id);
	state->values = malloc(info.value_size);
	if (state->values == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	return 0;
}

int
control_states_open(struct control_states *states, const struct config *config,
		    struct failure *failure)
{
	*states = (struct control_states){.tcp_cc_info = {.map = -1}};
	for (size_t i = 0; i < config->state_count; i++) {
		struct control_state *state = &states->storage[states->count++];

		if (open_storage(state, &config->states[i], failure) < 0)
			return -1;
	}
	return 0;
}

void
control_states_close(struct control_states *states)
{
	for (size_t i = 0; i < states->count; i++) {
		if (states->storage[i].map >= 0)
			close(states->storage[i].map);
		free(states->storage[i].values);
	}
	states->count = 0;
}

const struct control_state *
control_states_find(const struct control_states *states, int fd, const char *cc)
{
	struct cc_told told;

	for (size_t i = 0; i < states->count; i++)
		if (strcmp(states->storage[i].cc, cc) == 0)
			return &states->storage[i];
	return read_cc_info(fd, &told) ? &states->tcp_cc_info : NULL;
}
