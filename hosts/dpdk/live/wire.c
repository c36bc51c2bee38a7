/* SPDX-License-Identifier: Apache-2.0 */
/* A wire on a clock: an ethdev. */
#include "io/wire.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "common/nanoseconds.h"
#include "io/beside.h"
#include "live.h"
#include "nic.h"
#include "xdp/arrival.h"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

/* The program of the kernel that stamps arrivals, beside this one. */
#define STAMPS "xdp/arrival.bpf.o"
#define DESCRIPTORS 4096
#define SEND_TRIES 8
/* Descriptors that are looked at: a data plane has a few hundred. */
#define FDS_MAX 1024
/* Longer than any frame waits in a port's ring. */
#define OLDEST_STAMP_NS (10 * SECOND_NS)
/* The kernel counts about 2304 bytes for a frame, and doubles the size that it is given. */
#define SEND_BUFFER_BYTES (450 * 2304 / 2)

void
wires_choose_stamps(struct config *config)
{
	struct failure reason = {0};
	char path[PATH_BYTES];

	/* A device's options are told apart by commas. */
	if (beside(STAMPS, path, sizeof(path), &reason) < 0 || access(path, R_OK) != 0 ||
	    strchr(path, ',') != NULL)
		return;
	for (int id = 0; id < N_WIRES; id++) {
		struct wire_config *wire = &config->wires[id];

		if (wire->driver == DRIVER_AF_XDP && wire->devices.n > 0)
			snprintf(wire->xdp, sizeof(wire->xdp), "%s", path);
	}
}

static void
device_name(const struct wire_config *config, enum wire_id id, uint32_t loop, char *name,
	    size_t bytes)
{
	static const char *const prefixes[] = {
		[DRIVER_AF_XDP] = "net_af_xdp",
		[DRIVER_AF_PACKET] = "net_af_packet",
		[DRIVER_TAP] = "net_tap",
	};

	if (config->driver == DRIVER_PCI)
		snprintf(name, bytes, "%s", config_device(config, loop));
	else
		snprintf(name, bytes, "%s%u", prefixes[config->driver], loop * N_WIRES + id);
}

void
wire_eal_argument(const struct wire_config *config, enum wire_id id, uint32_t loop, char *text,
		  size_t text_bytes)
{
	static const char *const extras[] = {
		[DRIVER_AF_XDP] = "start_queue=0,queue_count=1,busy_budget=0",
		[DRIVER_AF_PACKET] = "blocksz=65536,framesz=2048,framecnt=8192,qdisc_bypass=1",
		[DRIVER_TAP] = "",
	};
	char name[NAME_BYTES];

	device_name(config, id, loop, name, sizeof(name));
	if (config->driver == DRIVER_PCI)
		snprintf(text, text_bytes, "--allow=%s", name);
	else
		snprintf(text, text_bytes, "--vdev=%s,iface=%s%s%s%s%s", name,
			 config_device(config, loop), extras[config->driver][0] ? "," : "",
			 extras[config->driver], config->xdp[0] ? ",xdp_prog=" : "", config->xdp);
}

static bool
is_socket_of(int fd, int wanted)
{
	int domain = 0;
	socklen_t length = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == wanted;
}

static bool
is_packet_socket_at(int fd, const char *interface)
{
	struct sockaddr_ll address = {0};
	socklen_t length = sizeof(address);

	return is_socket_of(fd, AF_PACKET) &&
	       getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
	       address.sll_ifindex == (int)if_nametoindex(interface);
}

/* One that keeps an interface without being a queue of it has no name. */
static bool
is_tap_of(int fd, const char *interface)
{
	struct ifreq request = {0};

	return ioctl(fd, TUNGETIFF, &request) == 0 && strcmp(request.ifr_name, interface) == 0;
}

/* Whether frames of this wire arrive by this descriptor. An AF_XDP socket does not tell its
 * interface: those that other wires had before are not this one's.
 */
static bool
is_frame_fd(enum driver driver, int fd, const char *interface, const bool *had)
{
	switch (driver) {
	case DRIVER_AF_XDP:
		return !had[fd] && is_socket_of(fd, AF_XDP);
	case DRIVER_AF_PACKET:
		return is_packet_socket_at(fd, interface);
	case DRIVER_TAP:
		return is_tap_of(fd, interface);
	default:
		return false;
	}
}

/* No driver exposes its descriptors, so look for those that it opened. Some open them as DPDK starts,
 * before any wire is opened.
 */
static void
find_fds(struct wire *wire, const char *interface, const bool *had)
{
	for (int fd = 3; fd < FDS_MAX && wire->n_fds < WIRE_FDS_MAX; fd++)
		if (is_frame_fd(wire->driver, fd, interface, had))
			wire->fds[wire->n_fds++] = fd;
}

static void
mark_xdp_sockets(bool *had)
{
	for (int fd = 3; fd < FDS_MAX; fd++)
		had[fd] = is_socket_of(fd, AF_XDP);
}

/* A frame counts against the socket's send buffer until the core at the other end has taken
 * it in, and while that buffer is full the driver tries again and again. The kernel's default,
 * some 92 frames, made the loop wait for a core that is busy with flows.
 * Both ports' frames together still fit into that core's backlog, which a run makes room in
 * (net.core.netdev_max_backlog; controlplane/machine/host/nics.py).
 */
static void
raise_send_buffer(const struct wire *wire)
{
	int bytes = SEND_BUFFER_BYTES;

	for (uint32_t i = 0; i < wire->n_fds; i++)
		(void)setsockopt(wire->fds[i], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
}

static int
refuse(struct failure *failure, const char *device, const char *step, int code, const char *remedy)
{
	return failure_set(failure, EXIT_STATUS_HOST, "%s: %s: %s; %s", device, step,
			   strerror(abs(code)), remedy);
}

static int
start_ethdev(uint16_t port, const struct rte_eth_conf *conf, struct rte_mempool *pool)
{
	uint16_t n_rx = DESCRIPTORS, n_tx = DESCRIPTORS;
	int error = rte_eth_dev_configure(port, 1, 1, conf);

	if (!error)
		error = rte_eth_dev_adjust_nb_rx_tx_desc(port, &n_rx, &n_tx);
	if (!error)
		error = rte_eth_rx_queue_setup(port, 0, n_rx, SOCKET_ID_ANY, NULL, pool);
	if (!error)
		error = rte_eth_tx_queue_setup(port, 0, n_tx, SOCKET_ID_ANY, NULL);
	if (!error)
		error = rte_eth_dev_start(port);
	if (!error)
		/* Not every virtual device supports the mode, and those do not need it. */
		(void)rte_eth_promiscuous_enable(port);
	return error;
}

int
wire_open(struct wire *wire, const struct wire_config *config, enum wire_id id, uint32_t loop,
	  struct rte_mempool *pool, struct failure *failure)
{
	struct rte_eth_conf conf = {0};
	bool had[FDS_MAX] = {false};
	const char *device = config_device(config, loop);
	char name[NAME_BYTES];
	int result;

	*wire = (struct wire){.id = id, .driver = config->driver, .stamps = config->xdp[0] != '\0'};
	device_name(config, id, loop, name, sizeof(name));
	result = rte_eth_dev_get_port_by_name(name, &wire->ethdev);
	if (result)
		return refuse(failure, device, "no such DPDK device", result,
			      "is the interface there, in this namespace?");
	mark_xdp_sockets(had);
	if (config->driver == DRIVER_PCI && nic_configure(wire, name, &conf, failure) < 0)
		return -1;
	result = start_ethdev(wire->ethdev, &conf, pool);
	if (result)
		return refuse(failure, device, "cannot start", result,
			      "is it up, and in no other program's use?");
	if (config->driver == DRIVER_PCI)
		return nic_started(wire, name, failure);
	find_fds(wire, device, had);
	if (config->driver == DRIVER_AF_XDP)
		raise_send_buffer(wire);
	return 0;
}

void
wire_close(struct wire *wire)
{
	for (uint32_t i = 0; i < wire->n_pending; i++)
		rte_pktmbuf_free(wire->pending[i]);
	wire->n_pending = 0;
	if (wire->driver == DRIVER_PCI)
		nic_close(wire);
	rte_eth_dev_stop(wire->ethdev);
	rte_eth_dev_close(wire->ethdev);
}

/* The stamp lies in front of the frame: the kernel keeps XDP metadata where it is, and the driver
 * has the frame where the kernel left it. A stamp is sound when it is a time shortly before now;
 * what else lies there, where the kernel could not stamp, hardly ever is.
 */
static bool
read_stamp(const struct rte_mbuf *mbuf, uint64_t epoch_ns, uint64_t now_ns, uint64_t *stamp_ns)
{
	struct arrival arrival;

	if (rte_pktmbuf_headroom(mbuf) < sizeof(arrival))
		return false;
	memcpy(&arrival, rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, -(int)sizeof(arrival)),
	       sizeof(arrival));
	*stamp_ns = arrival.clock_ns - epoch_ns;
	return arrival.clock_ns >= epoch_ns && *stamp_ns <= now_ns &&
	       now_ns - *stamp_ns < OLDEST_STAMP_NS;
}

void
wire_arrivals(struct wire *wire, struct rte_mbuf *const *mbufs, uint32_t n, uint64_t epoch_ns,
	      uint64_t now_ns, uint64_t *arrivals_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t stamp_ns = now_ns;

		if (wire->stamps && !read_stamp(mbufs[i], epoch_ns, now_ns, &stamp_ns)) {
			wire->rx_unstamped++;
			stamp_ns = now_ns;
		}
		wire->last_arrival_ns = RTE_MAX(wire->last_arrival_ns, stamp_ns);
		arrivals_ns[i] = wire->last_arrival_ns;
	}
}

void
wire_push(struct wire *wire, struct rte_mbuf *mbuf, struct frame_note note)
{
	if (wire->n_pending == WIRE_PENDING) {
		wire->tx_backlog_drops++;
		rte_pktmbuf_free(mbuf);
		return;
	}
	if (wire->driver == DRIVER_PCI)
		nic_pad(mbuf);
	wire->pending[wire->n_pending] = mbuf;
	wire->notes[wire->n_pending] = note;
	wire->n_pending++;
}

uint32_t
wire_send(struct wire *wire)
{
	uint32_t sent = 0;

	for (int tries = 0; sent < wire->n_pending && tries < SEND_TRIES; tries++) {
		uint16_t n = (uint16_t)RTE_MIN(wire->n_pending - sent, WIRE_BURST);
		uint16_t done = rte_eth_tx_burst(wire->ethdev, 0, &wire->pending[sent], n);

		sent += done;
		if (done > 0)
			tries = -1;
	}
	return sent;
}

void
wire_sent(struct wire *wire, uint32_t n)
{
	uint32_t left = wire->n_pending - n;

	if (left > 0 && n > 0) {
		memmove(wire->pending, wire->pending + n, left * sizeof(wire->pending[0]));
		memmove(wire->notes, wire->notes + n, left * sizeof(wire->notes[0]));
	}
	wire->n_pending = left;
}

static void
add_xdp_statistics(int fd, struct wire_stats *stats)
{
	struct xdp_statistics x = {0};
	socklen_t length = sizeof(x);

	if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &x, &length) < 0)
		return;
	stats->xdp_rx_dropped += x.rx_dropped;
	stats->xdp_rx_ring_full += x.rx_ring_full;
	stats->xdp_fill_ring_empty += x.rx_fill_ring_empty_descs;
	stats->xdp_tx_invalid += x.tx_invalid_descs;
}

int
wire_stats_get(const struct wire *wire, struct wire_stats *stats)
{
	struct rte_eth_stats eth;
	int error = rte_eth_stats_get(wire->ethdev, &eth);

	*stats = (struct wire_stats){0};
	if (error)
		return error;
	stats->rx_packets = eth.ipackets;
	stats->tx_packets = eth.opackets;
	stats->rx_bytes = eth.ibytes;
	stats->tx_bytes = eth.obytes;
	stats->rx_dropped = eth.imissed + eth.ierrors;
	stats->tx_dropped = eth.oerrors + wire->tx_backlog_drops;
	stats->rx_no_mbuf = eth.rx_nombuf;
	stats->rx_unstamped = wire->rx_unstamped;
	stats->link_downs = atomic_load_explicit(&wire->nic.link_downs, memory_order_relaxed);
	for (uint32_t i = 0; wire->driver == DRIVER_AF_XDP && i < wire->n_fds; i++)
		add_xdp_statistics(wire->fds[i], stats);
	return 0;
}
