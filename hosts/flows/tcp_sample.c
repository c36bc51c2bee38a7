/* SPDX-License-Identifier: Apache-2.0 */
#include "tcp_sample.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf_map.h"
#include "cc/cc_told.h"
#include "common/clock.h"

#define BITS_PER_BYTE 8
#define UNLIMITED UINT64_MAX
#define GAIN_BITS 24 /* of bbr_cwnd_gain; above them our kernel modules have the mode */

/* What other CCAs report is shorter than BBR's. */
static bool
take_cc_info(const union tcp_cc_info *info, size_t bytes, struct cc_told *told)
{
	if (bytes < sizeof(info->bbr))
		return false;
	*told = (struct cc_told){
		.bw = (uint64_t)info->bbr.bbr_bw_hi << 32 | info->bbr.bbr_bw_lo,
		.min_rtt_us = info->bbr.bbr_min_rtt,
		.pacing_gain = (uint16_t)info->bbr.bbr_pacing_gain,
		.cwnd_gain = (uint16_t)info->bbr.bbr_cwnd_gain,
		.mode = info->bbr.bbr_cwnd_gain >> GAIN_BITS,
	};
	return true;
}

static bool
read_cc_info(int fd, struct cc_told *told)
{
	union tcp_cc_info info = {0};
	socklen_t length = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &info, &length) == 0 &&
	       take_cc_info(&info, length, told);
}

/* False where the CCA tells nothing. */
static bool
read_told(const struct cca_state *state, int fd, struct cc_told *told)
{
	if (state == NULL)
		return false;
	if (state->map < 0)
		return read_cc_info(fd, told);
	if (bpf_map_read(state->map, &fd, state->values) < 0)
		return false;
	memcpy(told, state->values, sizeof(*told));
	return true;
}

static int
open_storage(struct cca_state *state, const struct cca_state_config *config,
	     struct failure *failure)
{
	struct bpf_map_info info = {0};

	state->cc = config->cc;
	state->map = bpf_map_open(config->map_id);
	if (state->map < 0 || bpf_map_read_info(state->map, &info) < 0)
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
cca_states_open(struct cca_states *states, const struct config *config, struct failure *failure)
{
	*states = (struct cca_states){.tcp_cc_info = {.map = -1}};
	for (size_t i = 0; i < config->n_control_states; i++) {
		struct cca_state *state = &states->storage[states->count++];

		if (open_storage(state, &config->control_states[i], failure) < 0)
			return -1;
	}
	return 0;
}

void
cca_states_close(struct cca_states *states)
{
	for (size_t i = 0; i < states->count; i++) {
		if (states->storage[i].map >= 0)
			close(states->storage[i].map);
		free(states->storage[i].values);
	}
	states->count = 0;
}

const struct cca_state *
cca_states_find(const struct cca_states *states, int fd, const char *cc)
{
	struct cc_told told;

	for (size_t i = 0; i < states->count; i++)
		if (strcmp(states->storage[i].cc, cc) == 0)
			return &states->storage[i];
	return read_cc_info(fd, &told) ? &states->tcp_cc_info : NULL;
}

static uint64_t
bits_per_second(uint64_t bytes_per_second)
{
	return bytes_per_second > UNLIMITED / BITS_PER_BYTE ? UNLIMITED :
							      bytes_per_second * BITS_PER_BYTE;
}

static uint32_t
inflight_bytes(const struct tcp_info *info)
{
	int64_t packets = (int64_t)info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost +
			  info->tcpi_retrans;

	return packets <= 0 ? 0 : (uint32_t)packets * info->tcpi_snd_mss;
}

static void
copy_window(const struct tcp_info *info, struct flow_sample *sample)
{
	sample->ca_state = info->tcpi_ca_state;
	sample->backoff = info->tcpi_backoff;
	sample->cwnd_pkts = info->tcpi_snd_cwnd;
	sample->ssthresh_pkts = info->tcpi_snd_ssthresh;
	sample->mss = info->tcpi_snd_mss;
	sample->unacked = info->tcpi_unacked;
	sample->sacked = info->tcpi_sacked;
	sample->lost = info->tcpi_lost;
	sample->retrans = info->tcpi_retrans;
	sample->total_retrans = info->tcpi_total_retrans;
	sample->reordering = info->tcpi_reordering;
	sample->inflight_bytes = inflight_bytes(info);
	sample->snd_wnd_bytes = info->tcpi_snd_wnd;
}

static void
copy_times(const struct tcp_info *info, struct flow_sample *sample)
{
	sample->srtt_us = info->tcpi_rtt;
	sample->rttvar_us = info->tcpi_rttvar;
	sample->min_rtt_us = info->tcpi_min_rtt;
	sample->rto_us = info->tcpi_rto;
	sample->busy_time_us = info->tcpi_busy_time;
	sample->rwnd_limited_us = info->tcpi_rwnd_limited;
	sample->sndbuf_limited_us = info->tcpi_sndbuf_limited;
}

static void
copy_delivery(const struct tcp_info *info, struct flow_sample *sample)
{
	sample->app_limited = info->tcpi_delivery_rate_app_limited;
	sample->delivered_pkts = info->tcpi_delivered;
	sample->delivered_ce = info->tcpi_delivered_ce;
	sample->notsent_bytes = info->tcpi_notsent_bytes;
	sample->bytes_acked = info->tcpi_bytes_acked;
	sample->bytes_sent = info->tcpi_bytes_sent;
	sample->bytes_retrans = info->tcpi_bytes_retrans;
	sample->delivery_rate_bps = bits_per_second(info->tcpi_delivery_rate);
	sample->pacing_rate_bps = bits_per_second(info->tcpi_pacing_rate);
}

static void
copy_told(const struct cc_told *told, struct flow_sample *sample)
{
	sample->has_bbr = 1;
	sample->bbr_bw_bps = bits_per_second(told->bw);
	sample->bbr_min_rtt_us = told->min_rtt_us;
	sample->bbr_pacing_gain = told->pacing_gain;
	sample->bbr_cwnd_gain = told->cwnd_gain;
	sample->bbr_mode = told->mode;
}

static void
copy_info(const struct tcp_info *info, struct flow_sample *sample)
{
	copy_window(info, sample);
	copy_times(info, sample);
	copy_delivery(info, sample);
}

void
tcp_sample_take(const struct nashbed_flows_sample *row, const struct cca_state *state,
		struct flow_sample *sample)
{
	struct tcp_info info = {0};
	union tcp_cc_info cc;
	struct cc_told told;

	_Static_assert(sizeof(row->cc) >= sizeof(cc), "room for every CCA's report");
	memcpy(&info, row->info,
	       sizeof(info) < sizeof(row->info) ? sizeof(info) : sizeof(row->info));
	memcpy(&cc, row->cc, sizeof(cc));
	memset(sample, 0, sizeof(*sample));
	sample->t_ns = row->t_ns;
	copy_info(&info, sample);
	if (state != NULL && take_cc_info(&cc, row->cc_bytes, &told))
		copy_told(&told, sample);
}

int
tcp_sample_read(int fd, const struct cca_state *state, struct flow_sample *sample)
{
	struct tcp_info info = {0}; /* the kernel may fill in less of it */
	socklen_t length = sizeof(info);
	struct cc_told told;

	memset(sample, 0, sizeof(*sample));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
		return -errno;

	sample->t_ns = clock_now_ns();
	copy_info(&info, sample);
	if (read_told(state, fd, &told))
		copy_told(&told, sample);
	return 0;
}
