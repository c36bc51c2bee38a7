/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "tcp_sample.h"

#define BITS_PER_BYTE 8
#define UNLIMITED UINT64_MAX

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

int
tcp_sample_read(int fd, const struct control_state *state, struct flow_sample *sample)
{
	struct tcp_info info = {0}; /* the kernel may fill in less of it */
	socklen_t length = sizeof(info);
	struct cc_told told;

	memset(sample, 0, sizeof(*sample));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
		return -errno;

	sample->t_ns = clock_now_ns();
	copy_window(&info, sample);
	copy_times(&info, sample);
	copy_delivery(&info, sample);
	if (control_state_read(state, fd, &told))
		copy_told(&told, sample);
	return 0;
}
