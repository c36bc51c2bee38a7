// SPDX-License-Identifier: GPL-2.0-only
/* The guest's side of the bottleneck, which is a library of the host in this process.
 *
 * Two Ethernet interfaces, one per network namespace in the order of their making, whose frames go
 * through the library. Its events are events of time travel: exact to the nanosecond.
 * /proc/nashbed is how the guest's first process is controlled: reading it waits for a request
 * while virtual time stands still, writing to it answers.
 */
#include <linux/etherdevice.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <linux/time-internal.h>
#include <shared/init.h>
#include "nashbed_clock.h"
#include "nashbed_flows.h"
#include "nashbed_user.h"
#include "nashbed_virtual.h"

#define WIRES NASHBED_VIRTUAL_WIRES
#define REQUEST_BYTES 65536u

/* nashbed_user.c */
const struct nashbed_virtual *nashbed_user_library(void);

static const struct nashbed_virtual *library;
static struct net_device *wires[WIRES];
static struct time_travel_event event;
/* CLOCK_MONOTONIC when time travel's clock was 0; constant, for both count nanoseconds. */
static u64 offset_ns;

static u64 now_ns(void)
{
	return time_travel_now() + offset_ns;
}

/* Have the event come when the library next has something to do. */
static void reschedule(void)
{
	u64 next = library->next_event(), now = now_ns();

	if (event.pending) {
		if (next != NASHBED_VIRTUAL_NEVER && event.time + offset_ns <= next)
			return;
		time_travel_del_event(&event);
	}
	if (next != NASHBED_VIRTUAL_NEVER)
		time_travel_add_event_rel(&event, next > now ? next - now : 0);
}

/* A frame whose last `zeros` bytes are not at `data`. It counts against the socket's memory as one
 * of a single piece: receive windows must not depend on who wrote the payload.
 */
static struct sk_buff *build(struct net_device *dev, const void *data, unsigned int bytes,
			     unsigned int zeros)
{
	struct sk_buff *skb = netdev_alloc_skb_ip_align(dev, bytes - zeros);
	int whole = SKB_TRUESIZE(SKB_DATA_ALIGN(bytes + NET_SKB_PAD + NET_IP_ALIGN));
	struct page *page = nashbed_flows_zeros();

	if (!skb)
		return NULL;
	skb_put_data(skb, data, bytes - zeros);
	if (zeros) {
		get_page(page);
		skb_add_rx_frag(skb, 0, page, 0, zeros,
				max_t(int, whole - (int)skb->truesize, zeros));
	}
	return skb;
}

static void deliver(int wire, const void *data, unsigned int bytes, unsigned int zeros)
{
	struct net_device *dev = wires[wire];
	struct sk_buff *skb = dev ? build(dev, data, bytes, zeros) : NULL;

	if (!skb) {
		if (dev)
			dev->stats.rx_dropped++;
		return;
	}
	skb->protocol = eth_type_trans(skb, dev);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += bytes;
	netif_rx(skb); /* counts what it drops itself */
}

static void on_event(struct time_travel_event *e)
{
	unsigned int bytes, zeros;
	void *frame, *data;
	int wire;

	library->advance(now_ns());
	while ((frame = library->take(&wire, &data, &bytes, &zeros)) != NULL) {
		deliver(wire, data, bytes, zeros);
		library->release(frame);
	}
	reschedule();
}

/* How many bytes at the end are payload of zeros; the headers are in front of its pages. */
static unsigned int zeros_of(const struct sk_buff *skb)
{
	const struct skb_shared_info *pages = skb_shinfo(skb);
	int i;

	if (skb_has_frag_list(skb))
		return 0;
	for (i = 0; i < pages->nr_frags; i++)
		if (compound_head(skb_frag_page(&pages->frags[i])) != nashbed_flows_zeros())
			return 0;
	return skb->data_len;
}

static netdev_tx_t nb_xmit(struct sk_buff *skb, struct net_device *dev)
{
	int wire = *(int *)netdev_priv(dev);
	unsigned int zeros = zeros_of(skb);
	unsigned long flags;
	void *data, *frame;

	local_irq_save(flags);
	frame = library->alloc(skb->len, &data);
	if (!frame) {
		dev->stats.tx_dropped++;
	} else {
		skb_copy_bits(skb, 0, data, skb->len - zeros);
		dev->stats.tx_packets++;
		dev->stats.tx_bytes += skb->len;
		library->receive(wire, frame, zeros, now_ns());
		reschedule();
	}
	local_irq_restore(flags);
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

/* As on the testbed's hosts: one frame at a time. */
static netdev_features_t nb_fix_features(struct net_device *dev, netdev_features_t features)
{
	return features & ~(NETIF_F_GSO | NETIF_F_GRO);
}

static const struct net_device_ops nb_ops = {
	.ndo_start_xmit = nb_xmit,
	.ndo_fix_features = nb_fix_features,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void nb_setup(struct net_device *dev)
{
	static const u8 address[ETH_ALEN] = {2, 0, 0, 0, 0, 1};

	ether_setup(dev);
	dev->netdev_ops = &nb_ops;
	/* Both ends have one address, so that each frame finds its way without ARP. */
	dev->flags |= IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->features |= NETIF_F_HW_CSUM | NETIF_F_SG | NETIF_F_HIGHDMA;
	dev->hw_features |= NETIF_F_HW_CSUM | NETIF_F_SG;
	dev->needs_free_netdev = true;
	eth_hw_addr_set(dev, address);
}

static int first_free_wire(void)
{
	int wire = 0;

	while (wire < WIRES && wires[wire])
		wire++;
	return wire;
}

static int __net_init nb_net_init(struct net *net)
{
	int err, wire = first_free_wire();
	struct net_device *dev;

	if (wire == WIRES)
		return 0;
	dev = alloc_netdev(sizeof(int), wire ? "nb1" : "nb0", NET_NAME_PREDICTABLE, nb_setup);
	if (!dev)
		return -ENOMEM;
	*(int *)netdev_priv(dev) = wire;
	dev_net_set(dev, net);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	wires[wire] = dev;
	return 0;
}

static void __net_exit nb_net_exit(struct net *net)
{
	int wire;

	for (wire = 0; wire < WIRES; wire++)
		if (wires[wire] && net_eq(dev_net(wires[wire]), net)) {
			unregister_netdev(wires[wire]);
			wires[wire] = NULL;
		}
}

static struct pernet_operations nb_net_ops = {
	.init = nb_net_init,
	.exit = nb_net_exit,
};

static ssize_t control_read(struct file *file, char __user *to, size_t bytes, loff_t *position)
{
	static char text[REQUEST_BYTES];
	unsigned long flags;
	unsigned int n;

	local_irq_save(flags);
	n = library->request(text, min_t(size_t, bytes, sizeof(text)), now_ns());
	reschedule();
	local_irq_restore(flags);
	return copy_to_user(to, text, n) ? -EFAULT : n;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes,
			     loff_t *position)
{
	static char text[REQUEST_BYTES];
	size_t n = min_t(size_t, bytes, sizeof(text));
	unsigned long flags;

	if (copy_from_user(text, from, n))
		return -EFAULT;
	local_irq_save(flags);
	library->answer(text, n);
	local_irq_restore(flags);
	return n;
}

static const struct proc_ops control_ops = {
	.proc_read = control_read,
	.proc_write = control_write,
};

static int __init nb_init(void)
{
	unsigned long flags;

	library = nashbed_user_library();
	if (!library)
		return 0;
	if (library->abi != NASHBED_VIRTUAL_ABI)
		panic("nashbed: the library's ABI is %u, this kernel's is %u: run `make virtual`",
		      library->abi, NASHBED_VIRTUAL_ABI);
	/* With interrupts off, reading the clock takes no virtual time. */
	local_irq_save(flags);
	offset_ns = ktime_get_ns() - time_travel_now();
	local_irq_restore(flags);
	time_travel_set_event_fn(&event, on_event);
	if (!proc_create("nashbed", 0600, NULL, &control_ops))
		return -ENOMEM;
	return register_pernet_device(&nb_net_ops);
}
device_initcall(nb_init);

unsigned long long nashbed_tsc(void)
{
	return ktime_get_ns();
}

struct nashbed_clock *nashbed_clock;

void nashbed_clock_set(void)
{
	if (!library)
		return;
	nashbed_clock->now = time_travel_now();
	nashbed_clock->next = time_travel_next();
	nashbed_clock->monotonic = offset_ns;
	nashbed_clock->realtime = ktime_mono_to_real(offset_ns);
}

/* What it has read after it stopped half-way through a reading may be past, or an event's turn. */
void nashbed_clock_take(void)
{
	if (nashbed_clock->now > time_travel_now())
		time_travel_ndelay(nashbed_clock->now - time_travel_now());
}

static void nb_close(void)
{
	if (library)
		library->close();
}
__uml_exitcall(nb_close);
