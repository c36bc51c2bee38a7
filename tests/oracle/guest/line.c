// SPDX-License-Identifier: GPL-2.0-only
/* A device whose line has an exact rate, and what sends packets to it at exact times: a module for
 * a guest whose time travels. A write to /proc/oracle starts it and returns when all is over.
 *
 * The device stops its queue while it sends a packet, so that Linux's queue discipline holds what
 * waits. Everything happens in timers that run as soft interrupts: there, reading the clock takes
 * no time. At one instant the end of a packet comes before arrivals.
 */
#include <linux/etherdevice.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/vmalloc.h>

static char *arrivals_path, *outcomes_path;
static unsigned long rate_bps;
module_param(arrivals_path, charp, 0);
module_param(outcomes_path, charp, 0);
module_param(rate_bps, ulong, 0);

#define NEVER U64_MAX
#define MODE HRTIMER_MODE_ABS_SOFT
#define LEAD_NS (100 * NSEC_PER_MSEC) /* from the start to time 0, */
#define PHASE_NS (1 << 20)	      /* which is where ticks of 64 and of 1024 ns begin */

/* As in ../kernel/run.c. */
struct arrival {
	u64 ns;
	u32 bytes;
	u32 hash;
	u32 truesize;
	u32 ecn;
};

struct outcome {
	u64 decided_ns;
	u64 departure_ns;
	u8 dropped, reason, marked, spare;
	u32 order;
};

static struct {
	struct net_device *device;
	struct proc_dir_entry *entry;
	struct hrtimer timer;
	struct tasklet_struct arrivals_due;
	struct completion over;
	struct arrival *arrivals;
	struct outcome *outcomes;
	size_t n, next, decided;
	u64 epoch_ns, free_ns, free_part;
	struct sk_buff *sending;
	u32 sent;
} line;

static u64
since_epoch(void)
{
	return ktime_get_ns() - line.epoch_ns;
}

static size_t
number_of(const struct sk_buff *skb)
{
	return *(u32 *)(skb->data + ETH_HLEN + sizeof(struct iphdr));
}

/* A packet is freed: it has been sent, or the queue discipline drops it. */
static void
freed(struct sk_buff *skb)
{
	struct outcome *mine = &line.outcomes[number_of(skb)];

	mine->marked = (ip_hdr(skb)->tos & 3) == 3 && line.arrivals[number_of(skb)].ecn != 3;
	if (!mine->spare) {
		mine->dropped = 1;
		mine->decided_ns = mine->departure_ns = since_epoch();
	}
	if (++line.decided == line.n)
		complete(&line.over);
}

static struct sk_buff *
packet(size_t number)
{
	const struct arrival *arrival = &line.arrivals[number];
	struct sk_buff *skb = alloc_skb(arrival->bytes, GFP_ATOMIC);
	struct iphdr *ip;

	if (skb == NULL)
		return NULL;
	skb->dev = line.device;
	skb->protocol = htons(ETH_P_IP);
	skb_put_zero(skb, arrival->bytes);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	ip = ip_hdr(skb);
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = (u8)arrival->ecn;
	ip->tot_len = htons((u16)(arrival->bytes - ETH_HLEN));
	ip->protocol = IPPROTO_UDP;
	*(u32 *)(skb->data + ETH_HLEN + sizeof(*ip)) = (u32)number;
	skb_set_hash(skb, arrival->hash, PKT_HASH_TYPE_L4);
	skb->destructor = freed;
	return skb;
}

static u64
next_event(void)
{
	u64 end_ns = line.sending ? line.free_ns : NEVER;
	u64 arrival_ns = line.next < line.n ? line.arrivals[line.next].ns : NEVER;

	return min(end_ns, arrival_ns);
}

/* A timer of a guest comes a nanosecond after its time, unless something else happens just then. */
static void
arm(void)
{
	u64 at_ns = next_event();

	if (at_ns == NEVER)
		return;
	if (since_epoch() + 1 < at_ns || since_epoch() > at_ns)
		at_ns--;
	hrtimer_start(&line.timer, ns_to_ktime(line.epoch_ns + at_ns), MODE);
}

static void
end_of_packet(void)
{
	struct sk_buff *skb = line.sending;
	struct outcome *mine = &line.outcomes[number_of(skb)];

	mine->departure_ns = since_epoch();
	mine->order = line.sent++;
	line.sending = NULL;
	dev_kfree_skb_any(skb);
	netif_wake_queue(line.device);
}

/* What frees the line; its queue discipline has its turn; then what arrives at that time. */
static enum hrtimer_restart
on_time(struct hrtimer *timer)
{
	if (line.sending && line.free_ns <= since_epoch())
		end_of_packet();
	tasklet_schedule(&line.arrivals_due);
	return HRTIMER_NORESTART;
}

static void
arrive(struct tasklet_struct *tasklet)
{
	while (line.next < line.n && line.arrivals[line.next].ns <= since_epoch()) {
		struct sk_buff *skb = packet(line.next++);

		if (skb)
			dev_queue_xmit(skb);
	}
	arm();
}

static netdev_tx_t
send(struct sk_buff *skb, struct net_device *device)
{
	struct outcome *mine = &line.outcomes[number_of(skb)];
	u64 now_ns = since_epoch();
	u64 parts;

	netif_stop_queue(device);
	mine->spare = 1;
	mine->decided_ns = now_ns;
	if (now_ns > line.free_ns) {
		line.free_ns = now_ns;
		line.free_part = 0;
	}
	parts = 8 * (u64)skb->len * NSEC_PER_SEC + line.free_part;
	line.free_ns += div64_u64_rem(parts, rate_bps, &line.free_part);
	line.sending = skb;
	arm();
	return NETDEV_TX_OK;
}

static const struct net_device_ops device_ops = {.ndo_start_xmit = send};

static void
set_up(struct net_device *device)
{
	ether_setup(device);
	device->netdev_ops = &device_ops;
	device->features = NETIF_F_SG | NETIF_F_HW_CSUM;
	eth_hw_addr_random(device);
}

static int
read_arrivals(void)
{
	struct file *file = filp_open(arrivals_path, O_RDONLY, 0);
	loff_t at = 0;
	size_t bytes;
	ssize_t got;

	if (IS_ERR(file))
		return PTR_ERR(file);
	bytes = i_size_read(file_inode(file));
	line.n = bytes / sizeof(*line.arrivals);
	line.arrivals = vmalloc(bytes);
	line.outcomes = vzalloc(line.n * sizeof(*line.outcomes));
	if (line.arrivals == NULL || line.outcomes == NULL)
		return -ENOMEM;
	while (at < bytes) {
		got = kernel_read(file, (char *)line.arrivals + at, bytes - at, &at);
		if (got <= 0)
			return got < 0 ? got : -EIO;
	}
	filp_close(file, NULL);
	return 0;
}

static int
write_outcomes(void)
{
	struct file *file = filp_open(outcomes_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t bytes = line.n * sizeof(*line.outcomes);
	loff_t at = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	while (at < bytes) {
		ssize_t put = kernel_write(file, (char *)line.outcomes + at, bytes - at, &at);

		if (put <= 0)
			return put < 0 ? put : -EIO;
	}
	filp_close(file, NULL);
	return 0;
}

static ssize_t
start(struct file *file, const char __user *text, size_t bytes, loff_t *offset)
{
	int error;

	init_completion(&line.over);
	line.epoch_ns = round_up(ktime_get_ns() + LEAD_NS, PHASE_NS);
	local_bh_disable();
	arm();
	local_bh_enable();
	wait_for_completion(&line.over);
	error = write_outcomes();
	return error < 0 ? error : bytes;
}

static const struct proc_ops proc_ops = {.proc_write = start};

static int __init
load(void)
{
	int error = read_arrivals();

	if (error < 0)
		return error;
	tasklet_setup(&line.arrivals_due, arrive);
	hrtimer_setup(&line.timer, on_time, CLOCK_MONOTONIC, MODE);
	line.device = alloc_netdev(0, "line0", NET_NAME_USER, set_up);
	if (line.device == NULL)
		return -ENOMEM;
	line.entry = proc_create("oracle", 0600, NULL, &proc_ops);
	return register_netdev(line.device);
}

module_init(load);
MODULE_DESCRIPTION("A line of an exact rate");
MODULE_LICENSE("GPL");
