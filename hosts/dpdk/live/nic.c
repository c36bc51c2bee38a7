/* SPDX-License-Identifier: Apache-2.0 */
#include "nic.h"

#include <errno.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

/* A full frame and the trailers behind it. */
#define NIC_MTU (FRAME_BYTES_MAX - ETHERNET_BYTES + TRAILERS_BYTES_MAX)
/* What negotiating a link takes at most, several seconds at high speeds. */
#define LINK_MS 20000
#define LINK_POLL_MS 10
/* A cable that is pulled, or a link that is negotiated again, is down for longer. */
#define LINK_LOOK_US 50000

static int
refuse(struct failure *failure, const char *device, const char *step, int code, const char *remedy)
{
	return failure_set(failure, EXIT_STATUS_HOST, "%s: %s: %s; %s", device, step,
			   strerror(abs(code)), remedy);
}

int
nic_configure(const struct wire *wire, const char *device, struct rte_eth_conf *conf,
	      struct failure *failure)
{
	struct rte_eth_dev_info info;
	int error = rte_eth_dev_info_get(wire->ethdev, &info);

	if (error)
		return refuse(failure, device, "its driver does not describe it", error,
			      "use another NIC");
	/* A driver limits the one or the other. */
	if (info.max_mtu < NIC_MTU ||
	    info.max_rx_pktlen < NIC_MTU + ETHERNET_BYTES + RTE_ETHER_CRC_LEN)
		return failure_set(
			failure, EXIT_STATUS_HOST,
			"%s: takes packets of up to %u bytes, and a full one with the "
			"trailers of time stamps has %u: it would vanish; use another NIC",
			device,
			RTE_MIN((uint32_t)info.max_mtu,
				info.max_rx_pktlen - ETHERNET_BYTES - RTE_ETHER_CRC_LEN),
			NIC_MTU);
	conf->rxmode.mtu = NIC_MTU;
	return 0;
}

/* A full ring must lose frames, which is counted, not silently pause who sends them. Both ends of a
 * cable may agree on it: then it is off only once there is a link.
 */
static int
ask_for_no_pauses(struct wire *wire)
{
	struct rte_eth_fc_conf conf = {0};
	int error = rte_eth_dev_flow_ctrl_get(wire->ethdev, &conf);

	if (!error) {
		conf.mode = RTE_ETH_FC_NONE;
		error = rte_eth_dev_flow_ctrl_set(wire->ethdev, &conf);
	}
	wire->nic.pauses = error ? PAUSES_UNKNOWN : PAUSES_OFF;
	return error == -ENOTSUP ? 0 : error;
}

static bool
pauses_stay_on(const struct wire *wire)
{
	struct rte_eth_fc_conf conf = {0};

	return wire->nic.pauses == PAUSES_OFF &&
	       (rte_eth_dev_flow_ctrl_get(wire->ethdev, &conf) || conf.mode != RTE_ETH_FC_NONE);
}

static bool
is_up(uint16_t port)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static int
await_link(const struct wire *wire, const char *device, struct failure *failure)
{
	bool up = false, on = true;

	for (int waited = 0; (!up || on) && waited < LINK_MS; waited += LINK_POLL_MS) {
		up = is_up(wire->ethdev);
		on = pauses_stay_on(wire);
		if (!up || on)
			rte_delay_us_sleep(LINK_POLL_MS * 1000);
	}
	if (!up)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "%s: no link in %d s; is its cable plugged in, and the other "
				   "end up?",
				   device, LINK_MS / 1000);
	if (on)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "%s: flow control (PAUSE frames) stays on; switch it off at the "
				   "other end of the cable, or use another NIC",
				   device);
	return 0;
}

/* Looks again and again, in DPDK's interrupt thread: not every driver tells when its link changes. */
static void
watch_link(void *argument)
{
	struct wire *wire = argument;
	bool up = is_up(wire->ethdev);

	if (wire->nic.was_up && !up)
		atomic_fetch_add_explicit(&wire->nic.link_downs, 1, memory_order_relaxed);
	wire->nic.was_up = up;
	(void)rte_eal_alarm_set(LINK_LOOK_US, watch_link, wire);
}

int
nic_started(struct wire *wire, const char *device, struct failure *failure)
{
	int error = rte_eth_dev_get_mtu(wire->ethdev, &wire->nic.mtu);

	if (error || wire->nic.mtu < NIC_MTU)
		return refuse(failure, device, "its MTU cannot be raised", error ? error : -EINVAL,
			      "use another NIC");
	error = ask_for_no_pauses(wire);
	if (error)
		return refuse(failure, device, "flow control cannot be switched off", error,
			      "use another NIC");
	if (await_link(wire, device, failure) < 0)
		return -1;
	wire->nic.was_up = true;
	error = rte_eal_alarm_set(LINK_LOOK_US, watch_link, wire);
	return error ? refuse(failure, device, "its link cannot be watched", error, "report this") :
		       0;
}

void
nic_close(struct wire *wire)
{
	rte_eal_alarm_cancel(watch_link, wire);
}

void
nic_pad(struct rte_mbuf *mbuf)
{
	uint32_t bytes = rte_pktmbuf_pkt_len(mbuf);
	char *padding;

	if (bytes >= FRAME_BYTES_MIN)
		return;
	padding = rte_pktmbuf_append(mbuf, (uint16_t)(FRAME_BYTES_MIN - bytes));
	if (padding != NULL)
		memset(padding, 0, FRAME_BYTES_MIN - bytes);
}
