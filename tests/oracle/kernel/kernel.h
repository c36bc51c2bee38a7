/* SPDX-License-Identifier: GPL-2.0-only */
/* What Linux's queue disciplines (net/sched/sch_*.c) need of a kernel, in user space.
 *
 * Every header that they include and that is not among the few taken from the kernel's source
 * (linux_qdiscs.py says which) is this one. Time, random numbers and timers are the caller's: see
 * run.c. Written for this test from the interfaces' documentation; what a qdisc decides is in the
 * kernel's own files, never here.
 */
#ifndef ORACLE_KERNEL_H
#define ORACLE_KERNEL_H

#include <asm/byteorder.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Types, and small arithmetic. */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u64 netdev_features_t;
typedef struct {
	int unused;
} spinlock_t;

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define BITS_PER_BYTE 8
#define __init
#define __exit
#define __rcu
#define __read_mostly
#define likely(x) (x)
#define unlikely(x) (x)
#define fallthrough __attribute__((fallthrough))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define typecheck(type, x) ((void)sizeof(type), (void)sizeof(x), 1)
#define prefetch(x) ((void)(x))
#define BUG() abort()
#define WARN_ON_ONCE(x) (x)
#define WARN(x, ...) ((void)(x))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)
#define DIV_ROUND_CLOSEST(x, by) (((x) + (by) / 2) / (by))
#define do_div(n, by)                                                                              \
	({                                                                                         \
		u32 left_ = (u32)((n) % (by));                                                     \
		(n) /= (by);                                                                       \
		left_;                                                                             \
	})
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define lower_32_bits(n) ((u32)(n))
#define upper_32_bits(n) ((u32)((u64)(n) >> 32))
#define htons(x) ((u16)__builtin_bswap16(x))

static inline int
fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline u64
div_u64(u64 n, u32 by)
{
	return n / by;
}

static inline u64
mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

static inline u32
reciprocal_scale(u32 value, u32 below)
{
	return (u32)(((u64)value * below) >> 32);
}

/* Modules, memory, errors as pointers. */
#define THIS_MODULE NULL
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define MODULE_LICENSE(x)
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_VERSION(x)
#define MODULE_ALIAS_NET_SCH(x)
#define module_init(x) static int (*const module_init_)(void) = x;
#define module_exit(x) static void (*const module_exit_)(void) = x;
#define GFP_KERNEL 0
#define kmalloc(bytes, flags) malloc(bytes)
#define kfree(x) free(x)
#define kvcalloc(n, bytes, flags) calloc(n, bytes)
#define kvzalloc_objs(object, n, ...) ((__typeof__(object) *)calloc(n, sizeof(object)))
#define kvfree(x) free(x)
#define ERR_PTR(error) ((void *)(intptr_t)(error))
#define IS_ERR(pointer) ((uintptr_t)(pointer) >= (uintptr_t)-4095)
#define IS_ERR_OR_NULL(pointer) (!(pointer) || IS_ERR(pointer))
#define PTR_ERR(pointer) ((int)(intptr_t)(pointer))

/* Lists. */
struct list_head {
	struct list_head *next, *prev;
};

#define list_first_entry(head, type, member) container_of((head)->next, type, member)
#define list_for_each(each, head) for (each = (head)->next; each != (head); each = each->next)

static inline void
INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline int
list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void
list_add_tail(struct list_head *entry, struct list_head *head)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void
list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void
list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

/* Time and timers: run.c keeps them. */
typedef s64 ktime_t;

#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define USEC_PER_MSEC 1000L
#define CLOCK_MONOTONIC 1
#define HRTIMER_MODE_ABS_PINNED 0
#define HRTIMER_MODE_ABS_PINNED_SOFT 0

enum hrtimer_restart {
	HRTIMER_NORESTART,
	HRTIMER_RESTART
};

struct timer_list {
	void (*function)(struct timer_list *timer);
};

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	ktime_t expires;
};

u64 oracle_now_ns(void);
u64 oracle_hz(void);
u64 oracle_random(void);
void oracle_set_timer(struct timer_list *timer, u64 jiffy);
void oracle_set_hrtimer(struct hrtimer *timer, u64 at_ns);
void oracle_forget_timer(const void *timer);

#define HZ ((unsigned long)oracle_hz())
#define jiffies ((unsigned long)(oracle_now_ns() * oracle_hz() / NSEC_PER_SEC))
#define ktime_get() ((ktime_t)oracle_now_ns())
#define ktime_get_ns() oracle_now_ns()
#define ktime_add_ns(time, ns) ((ktime_t)((time) + (ns)))
#define ktime_us_delta(later, earlier) (((later) - (earlier)) / NSEC_PER_USEC)
#define timer_setup(timer, callback, flags) ((timer)->function = (callback))
#define mod_timer(timer, jiffy) oracle_set_timer(timer, jiffy)
#define timer_delete(timer) oracle_forget_timer(timer)
#define timer_delete_sync(timer) oracle_forget_timer(timer)
#define del_timer(timer) oracle_forget_timer(timer)
#define del_timer_sync(timer) oracle_forget_timer(timer)
#define timer_container_of(var, timer, field) container_of(timer, __typeof__(*(var)), field)
#define from_timer(var, timer, field) container_of(timer, __typeof__(*(var)), field)
#define hrtimer_setup(timer, callback, clock, mode) ((timer)->function = (callback))
#define hrtimer_set_expires(timer, at) ((timer)->expires = (at))
#define hrtimer_start(timer, at, mode) oracle_set_hrtimer(timer, (u64)(at))
#define hrtimer_cancel(timer) oracle_forget_timer(timer)

static inline unsigned long
usecs_to_jiffies(unsigned int us)
{
	return (unsigned long)(((u64)us * oracle_hz() + 999999) / 1000000);
}

static inline unsigned int
jiffies_to_usecs(unsigned long j)
{
	return (unsigned int)(j * 1000000 / oracle_hz());
}

/* Random numbers. */
#define get_random_u32() ((u32)(oracle_random() >> 32))
#define prandom_u32() get_random_u32()
#define prandom_bytes(bytes, n) get_random_bytes(bytes, n)

static inline void
get_random_bytes(void *bytes, size_t n)
{
	u64 drawn = oracle_random();

	if (n != sizeof(drawn))
		abort();
	memcpy(bytes, &drawn, n);
}

/* A packet is one of the caller's arrivals. */
enum fate {
	FATE_WAITS,
	FATE_SENT,
	FATE_DROPPED
};

struct sk_buff {
	struct sk_buff *next;
	unsigned int len;
	unsigned int truesize;
	u32 hash;
	u32 priority;
	u8 ecn;
	u8 marked;
	u8 fate;
	u8 reason;
	u64 fate_ns;
	void *end;
	char cb[64];
};

struct sk_buff_head {
	struct sk_buff *first;
};

enum qdisc_drop_reason {
	QDISC_DROP_GENERIC,
	QDISC_DROP_OVERLIMIT,
	QDISC_DROP_CONGESTED,
	QDISC_DROP_L4S_STEP_NON_ECN,
};
#define SKB_DROP_REASON_QDISC_DROP QDISC_DROP_GENERIC
#define SKB_DROP_REASON_QDISC_OVERLIMIT QDISC_DROP_OVERLIMIT
#define SKB_DROP_REASON_QDISC_CONGESTED QDISC_DROP_CONGESTED

static inline void
kfree_skb_reason(struct sk_buff *skb, int reason)
{
	if (skb->fate != FATE_WAITS)
		abort(); /* freed twice */
	skb->fate = FATE_DROPPED;
	skb->reason = (u8)reason;
	skb->fate_ns = oracle_now_ns();
}

#define kfree_skb(skb) kfree_skb_reason(skb, QDISC_DROP_GENERIC)
#define consume_skb(skb) abort()
#define rtnl_kfree_skbs(head, tail) ((void)(head), (void)(tail))
#define is_skb_wmem(skb) false
#define skb_get_hash(skb) ((skb)->hash)
#define skb_mark_not_on_list(skb) ((skb)->next = NULL)
#define skb_peek(list) ((list)->first)
#define skb_is_gso(skb) false
#define skb_gso_segment(skb, features) ((struct sk_buff *)NULL)
#define netif_skb_features(skb) 0
#define NETIF_F_GSO_MASK 0
#define skb_list_walk_safe(first, skb, next_)                                                      \
	for ((skb) = (first), (next_) = NULL; (skb) != NULL; (skb) = (next_))

static inline struct sk_buff *
__skb_dequeue(struct sk_buff_head *list)
{
	struct sk_buff *skb = list->first;

	list->first = NULL;
	return skb;
}

static inline void
__skb_queue_head(struct sk_buff_head *list, struct sk_buff *skb)
{
	list->first = skb;
}

/* The ECN codepoint of every packet is at hand. */
enum {
	INET_ECN_NOT_ECT,
	INET_ECN_ECT_1,
	INET_ECN_ECT_0,
	INET_ECN_CE,
	INET_ECN_MASK = 3
};

struct iphdr {
	int unused;
};
struct ipv6hdr {
	int unused;
};

/* Whether it says CE now: not where the packet is not ECN-capable. */
static inline int
INET_ECN_set_ce(struct sk_buff *skb)
{
	if (skb->ecn == INET_ECN_NOT_ECT)
		return 0;
	skb->marked |= skb->ecn != INET_ECN_CE;
	skb->ecn = INET_ECN_CE;
	return 1;
}

#define skb_get_dsfield(skb) ((int)(skb)->ecn)
#define skb_network_offset(skb) 0
#define skb_protocol(skb, skip_vlan) htons(ETH_P_IP)
#define pskb_may_pull(skb, bytes) true
#define skb_try_make_writable(skb, bytes) 0
#define ip_hdr(skb) (skb)
#define ipv6_hdr(skb) (skb)
#define ipv4_get_dsfield(skb) ((skb)->ecn)
#define ipv6_get_dsfield(skb) ((skb)->ecn)

/* Options come as over netlink: one attribute with attributes in it. */
struct nla_policy {
	int type;
	int len;
	int strict_start_type;
	void *range;
};

struct netlink_range_validation {
	u64 min, max;
};

struct netlink_ext_ack {
	int unused;
};

enum {
	NLA_U8,
	NLA_U32,
	NLA_U64,
	NLA_BINARY
};
#define NLA_POLICY_MIN(t, least)                                                                   \
	{                                                                                          \
		.type = t                                                                          \
	}
#define NLA_POLICY_MAX(t, most)                                                                    \
	{                                                                                          \
		.type = t                                                                          \
	}
#define NLA_POLICY_RANGE(t, least, most)                                                           \
	{                                                                                          \
		.type = t                                                                          \
	}
#define NLA_POLICY_FULL_RANGE(t, range_)                                                           \
	{                                                                                          \
		.type = t, .range = range_                                                         \
	}
#define NLA_POLICY_BITFIELD32(valid)                                                               \
	{                                                                                          \
		.len = (valid)                                                                     \
	}
#define NL_SET_ERR_MSG(extack, text) ((void)(extack))
#define NL_SET_ERR_MSG_MOD(extack, text) ((void)(extack))
#define RTM_NEWQDISC 36

#define nla_data(attribute) ((void *)((char *)(attribute) + NLA_HDRLEN))
#define nla_len(attribute) ((int)(attribute)->nla_len - NLA_HDRLEN)
#define nla_attr_size(bytes) (NLA_HDRLEN + (bytes))
#define nla_get_u32(attribute) (*(u32 *)nla_data(attribute))
#define nla_get_u64(attribute) (*(u64 *)nla_data(attribute))
#define nla_get_u8(attribute) (*(u8 *)nla_data(attribute))
#define nla_get_u32_default(attribute, usual) ((attribute) ? nla_get_u32(attribute) : (usual))
#define nla_get_bitfield32(attribute) (*(struct nla_bitfield32 *)nla_data(attribute))

static inline int
nla_parse_nested(struct nlattr **found, int most, const struct nlattr *options,
		 const struct nla_policy *policy, struct netlink_ext_ack *extack)
{
	const char *at = (const char *)options + NLA_HDRLEN;
	const char *end = (const char *)options + options->nla_len;

	(void)policy;
	(void)extack;
	memset(found, 0, sizeof(*found) * (size_t)(most + 1));
	while (at < end) {
		struct nlattr *each = (struct nlattr *)at;

		if (each->nla_type > most || each->nla_len < NLA_HDRLEN)
			return -EINVAL;
		found[each->nla_type] = each;
		at += NLA_ALIGN(each->nla_len);
	}
	return 0;
}
#define nla_parse_nested_deprecated nla_parse_nested

/* What is shown of a qdisc is not asked for. */
struct gnet_dump;
struct gnet_stats_queue {
	u32 qlen, backlog, drops, requeues, overlimits;
};
struct tcmsg {
	u32 tcm_handle, tcm_info;
};
#define nla_nest_start_noflag(skb, type) ((struct nlattr *)NULL)
#define nla_nest_start(skb, type) ((struct nlattr *)NULL)
#define nla_nest_end(skb, nest) ((void)(nest), 0)
#define nla_nest_cancel(skb, nest) ((void)(nest))
#define nla_put(skb, type, bytes, data) ((void)(data), 0)
#define nla_put_u32(skb, type, value) ((void)(value), 0)
#define nla_put_u64_64bit(skb, type, value, padding) ((void)(value), 0)
#define nla_put_u8(skb, type, value) ((void)(value), 0)
#define nla_put_bitfield32(skb, type, value, selector) ((void)(value), 0)
#define gnet_stats_copy_app(dump, data, bytes) ((void)(data), 0)
#define gnet_stats_copy_queue(dump, cpu, queue, qlen) ((void)(queue), 0)

/* Queue disciplines. */
struct Qdisc;
struct Qdisc_class_ops;
struct qdisc_walker {
	int stop, skip, count;
	int (*fn)(struct Qdisc *sch, unsigned long class, struct qdisc_walker *walker);
};

enum {
	NET_XMIT_SUCCESS,
	NET_XMIT_DROP,
	NET_XMIT_CN,
	__NET_XMIT_STOLEN = 0x10000,
	__NET_XMIT_BYPASS = 0x20000,
};
#define net_xmit_drop_count(code) (((code)&__NET_XMIT_STOLEN) ? 0 : 1)

enum {
	TCQ_F_CAN_BYPASS = 4,
	TCQ_F_OFFLOADED = 0x200,
	TCQ_F_DEQUEUE_DROPS = 0x400
};

struct qdisc_skb_head {
	struct sk_buff *head, *tail;
	u32 qlen;
};

struct net_device_ops {
	int (*ndo_setup_tc)(void *device, int type, void *what);
};

struct net_device {
	unsigned int mtu;
	unsigned int tx_queue_len;
	const struct net_device_ops *netdev_ops;
};

struct Qdisc_ops {
	struct Qdisc_ops *next;
	const char *id;
	const struct Qdisc_class_ops *cl_ops;
	int priv_size;
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	struct sk_buff *(*peek)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
	int (*change)(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack);
	int (*dump)(struct Qdisc *sch, struct sk_buff *skb);
	int (*dump_stats)(struct Qdisc *sch, struct gnet_dump *dump);
	void *owner;
};

struct tcf_proto;
struct tcf_block;
struct tcf_result {
	u32 classid;
};

struct Qdisc_class_ops {
	int (*graft)(struct Qdisc *sch, unsigned long class, struct Qdisc *child,
		     struct Qdisc **old, struct netlink_ext_ack *extack);
	struct Qdisc *(*leaf)(struct Qdisc *sch, unsigned long class);
	unsigned long (*find)(struct Qdisc *sch, u32 classid);
	struct tcf_block *(*tcf_block)(struct Qdisc *sch, unsigned long class,
				       struct netlink_ext_ack *extack);
	unsigned long (*bind_tcf)(struct Qdisc *sch, unsigned long parent, u32 classid);
	void (*unbind_tcf)(struct Qdisc *sch, unsigned long class);
	int (*dump)(struct Qdisc *sch, unsigned long class, struct sk_buff *skb, struct tcmsg *msg);
	int (*dump_stats)(struct Qdisc *sch, unsigned long class, struct gnet_dump *dump);
	void (*walk)(struct Qdisc *sch, struct qdisc_walker *walker);
};

struct Qdisc {
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	const struct Qdisc_ops *ops;
	struct net_device *device;
	void *dev_queue;
	u32 flags, limit, handle, parent;
	struct sk_buff_head gso_skb;
	struct qdisc_skb_head q;
	struct {
		u32 backlog, qlen, drops, overlimits;
	} qstats;
	struct {
		u64 bytes, packets;
	} bstats;
	char priv[] __attribute__((aligned(64)));
};

struct qdisc_skb_cb {
	unsigned int pkt_len;
	unsigned int pkt_segs;
	unsigned char data[40] __attribute__((aligned(8)));
};

static inline unsigned int
qdisc_pkt_len(const struct sk_buff *skb)
{
	return ((const struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

extern struct Qdisc noop_qdisc;
extern struct net_device oracle_device;
extern struct Qdisc_ops pfifo_qdisc_ops, bfifo_qdisc_ops;

struct Qdisc *qdisc_create_dflt(void *queue, const struct Qdisc_ops *ops, u32 parent,
				struct netlink_ext_ack *extack);
void qdisc_put(struct Qdisc *sch);
void oracle_reduce_backlog(struct Qdisc *sch, u32 packets, u32 bytes);
int fifo_set_limit(struct Qdisc *q, unsigned int limit);
struct Qdisc *fifo_create_dflt(struct Qdisc *sch, struct Qdisc_ops *ops, unsigned int limit,
			       struct netlink_ext_ack *extack);

#define DEBUG_NET_WARN_ON_ONCE(x) ((void)(x))
#define rcu_read_lock()
#define rcu_read_unlock()
#define rcu_dereference_bh(x) (x)
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
#define sch_tree_lock(sch)
#define sch_tree_unlock(sch)
#define qdisc_root_sleeping(sch) (sch)
#define qdisc_lock(sch) ((spinlock_t *)(sch))
#define qdisc_priv(sch) ((void *)(sch)->priv)
#define qdisc_dev(sch) ((sch)->device)
#define psched_mtu(device) ((device)->mtu + ETH_HLEN)
#define register_qdisc(ops) ((void)(ops), 0)
#define unregister_qdisc(ops) ((void)(ops))
#define qdisc_hash_add(sch, invisible) ((void)(sch))
#define qdisc_purge_queue(sch) ((void)(sch))
#define qdisc_reset(sch) ((void)(sch))
#define qdisc_offload_graft_helper(device, sch, child, old, type, options, extack) ((void)(options))
#define qdisc_offload_dump_helper(sch, type, options) ((void)(options), 0)
#define tc_can_offload(device) false
#define tc_qdisc_stats_dump(sch, class, walker) true
#define tcf_block_get(block, filters, sch, extack) ((void)(block), (void)(filters), 0)
#define tcf_block_put(block) ((void)(block))
#define tcf_classify(...) (res.classid = 0, -1) /* its arguments vary */
#define tcf_classify_qdisc(skb, filter, result, compatible) ((result)->classid = 0, -1)
#define qdisc_tree_reduce_backlog(sch, packets, bytes)                                             \
	oracle_reduce_backlog(sch, (u32)(packets), (u32)(bytes))
#define qdisc_skb_cb(skb) ((struct qdisc_skb_cb *)(skb)->cb)
#define qdisc_cb_private_validate(skb, bytes)                                                      \
	((void)sizeof(char[sizeof(((struct qdisc_skb_cb *)0)->data) >= (bytes) ? 1 : -1]))
#define qdisc_qlen(sch) ((int)(sch)->q.qlen)
#define qdisc_qlen_inc(sch) ((sch)->q.qlen++)
#define qdisc_qlen_dec(sch) ((sch)->q.qlen--)
#define qstats_backlog_add(sch, bytes) ((sch)->qstats.backlog += (bytes))
#define qstats_backlog_sub(sch, bytes) ((sch)->qstats.backlog -= (bytes))
#define qdisc_qstats_backlog_inc(sch, skb) qstats_backlog_add(sch, qdisc_pkt_len(skb))
#define qdisc_qstats_backlog_dec(sch, skb) qstats_backlog_sub(sch, qdisc_pkt_len(skb))
#define qdisc_qstats_drop(sch) ((sch)->qstats.drops++)
#define __qdisc_qstats_drop(sch, n) ((sch)->qstats.drops += (n))
#define qdisc_qstats_overlimit(sch) ((sch)->qstats.overlimits++)
#define qdisc_bstats_update(sch, skb)                                                              \
	((sch)->bstats.packets++, (sch)->bstats.bytes += qdisc_pkt_len(skb))
#define tcf_set_qdisc_drop_reason(skb, why) ((skb)->reason = (u8)(why))
#define rtnl_qdisc_drop(skb, sch) kfree_skb(skb)

/* What is dropped when it comes or waits: with the reason that was set before, if any. */
static inline void
__qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free)
{
	(void)to_free;
	kfree_skb_reason(skb, skb->reason);
}

static inline int
qdisc_drop_reason(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free, int reason)
{
	skb->reason = (u8)reason;
	__qdisc_drop(skb, to_free);
	qdisc_qstats_drop(sch);
	return NET_XMIT_DROP;
}
#define qdisc_drop(skb, sch, to_free) qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_GENERIC)

static inline void
qdisc_dequeue_drop(struct Qdisc *sch, struct sk_buff *skb, enum qdisc_drop_reason reason)
{
	(void)sch;
	kfree_skb_reason(skb, (int)reason);
}

static inline int
qdisc_enqueue_tail(struct sk_buff *skb, struct Qdisc *sch)
{
	skb->next = NULL;
	if (sch->q.tail)
		sch->q.tail->next = skb;
	else
		sch->q.head = skb;
	sch->q.tail = skb;
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}

static inline struct sk_buff *
__qdisc_dequeue_head(struct qdisc_skb_head *queue)
{
	struct sk_buff *skb = queue->head;

	if (skb == NULL)
		return NULL;
	queue->head = skb->next;
	if (queue->head == NULL)
		queue->tail = NULL;
	queue->qlen--;
	skb->next = NULL;
	return skb;
}

static inline struct sk_buff *
qdisc_dequeue_head(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_bstats_update(sch, skb);
	}
	return skb;
}

static inline void
__qdisc_queue_drop_head(struct Qdisc *sch, struct qdisc_skb_head *queue, struct sk_buff **to_free)
{
	struct sk_buff *skb = __qdisc_dequeue_head(queue);

	qdisc_qstats_backlog_dec(sch, skb);
	__qdisc_drop(skb, to_free);
}

#define qdisc_enqueue(skb, sch, to_free) ((sch)->enqueue(skb, sch, to_free))

static inline struct sk_buff *
qdisc_peek_head(struct Qdisc *sch)
{
	return sch->q.head;
}

/* What a parent has looked at has been taken out of a queue, of which it is a part until it is asked
 * for.
 */
static inline struct sk_buff *
qdisc_peek_dequeued(struct Qdisc *sch)
{
	if (sch->gso_skb.first == NULL) {
		sch->gso_skb.first = sch->dequeue(sch);
		if (sch->gso_skb.first != NULL) {
			qdisc_qlen_inc(sch);
			qdisc_qstats_backlog_inc(sch, sch->gso_skb.first);
		}
	}
	return sch->gso_skb.first;
}

static inline struct sk_buff *
qdisc_dequeue_peeked(struct Qdisc *sch)
{
	struct sk_buff *skb = sch->gso_skb.first;

	if (skb == NULL)
		return sch->dequeue(sch);
	sch->gso_skb.first = NULL;
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

static inline struct Qdisc *
qdisc_replace(struct Qdisc *sch, struct Qdisc *child, struct Qdisc **place)
{
	struct Qdisc *old = *place;

	(void)sch;
	*place = child;
	return old;
}

static inline struct sk_buff *
qdisc_dequeue_internal(struct Qdisc *sch, bool direct)
{
	return direct ? qdisc_dequeue_head(sch) : sch->dequeue(sch);
}

static inline void
qdisc_reset_queue(struct Qdisc *sch)
{
	sch->q = (struct qdisc_skb_head){0};
}

/* Handlers of events at drops and marks: none is set. */
struct tcf_qevent {
	int unused;
};
#define FLOW_BLOCK_BINDER_TYPE_RED_EARLY_DROP 0
#define FLOW_BLOCK_BINDER_TYPE_RED_MARK 0
#define tcf_qevent_init(event, sch, type, block, extack) ((void)(event), (void)(block), 0)
#define tcf_qevent_destroy(event, sch) ((void)(event))
#define tcf_qevent_validate_change(event, block, extack) ((void)(event), (void)(block), 0)
#define tcf_qevent_handle(event, sch, skb, to_free, result) ((void)(result), (skb))
#define tcf_qevent_dump(skb, type, event) ((void)(event), 0)

/* Offloads: no device has any. */
enum {
	TC_RED_REPLACE,
	TC_RED_DESTROY,
	TC_RED_STATS,
	TC_RED_XSTATS,
	TC_RED_GRAFT
};
enum {
	TC_FIFO_REPLACE,
	TC_FIFO_DESTROY,
	TC_FIFO_STATS
};
enum {
	TC_TBF_REPLACE,
	TC_TBF_DESTROY,
	TC_TBF_STATS,
	TC_TBF_GRAFT
};
enum {
	TC_SETUP_QDISC_RED,
	TC_SETUP_QDISC_FIFO,
	TC_SETUP_QDISC_TBF
};

struct tc_red_qopt_offload {
	int command;
	u32 handle, parent;
	union {
		struct {
			u32 min, max, probability, limit;
			bool is_ecn, is_harddrop, is_nodrop;
			void *qstats;
		} set;
		struct {
			void *bstats, *qstats;
		} stats;
		void *xstats;
		u32 child_handle;
	};
};

struct tc_fifo_qopt_offload {
	int command;
	u32 handle, parent;
	struct {
		void *bstats, *qstats;
	} stats;
};

/* A rate as a product and a shift of a length, which make the time that it takes in ns. */
struct psched_ratecfg {
	u64 rate_bytes_ps;
	u32 mult;
	u16 overhead, mpu;
	u8 linklayer, shift;
};

struct tc_tbf_qopt_offload {
	int command;
	u32 handle, parent;
	union {
		struct {
			struct psched_ratecfg rate;
			u32 max_size;
			void *qstats;
		} replace_params;
		struct {
			void *bstats, *qstats;
		} stats;
		u32 child_handle;
	};
};

/* As many bits of the product as 32 hold. */
static inline void
psched_ratecfg_precompute(struct psched_ratecfg *r, const struct tc_ratespec *asked, u64 rate64)
{
	*r = (struct psched_ratecfg){
		.rate_bytes_ps = max(asked->rate, rate64),
		.mult = 1,
		.overhead = asked->overhead,
		.mpu = asked->mpu,
		.linklayer = asked->linklayer,
	};
	if (r->rate_bytes_ps == 0)
		return;
	for (u64 ns = NSEC_PER_SEC;; ns <<= 1, r->shift++) {
		r->mult = (u32)(ns / r->rate_bytes_ps);
		if ((r->mult | ns >> 32) & UINT32_C(1) << 31)
			return;
	}
}

static inline u64
psched_l2t_ns(const struct psched_ratecfg *r, unsigned int length)
{
	return (u64)max(length + r->overhead, (unsigned int)r->mpu) * r->mult >> r->shift;
}

#define psched_ratecfg_getrate(spec, r) ((spec)->rate = (u32)(r)->rate_bytes_ps)
#define qdisc_get_rtab(rate, table, extack) NULL
#define qdisc_put_rtab(table) ((void)(table))
#define pr_warn_ratelimited(...)

/* A timer that asks the qdisc for a packet again. */
struct qdisc_watchdog {
	struct hrtimer timer;
};

enum hrtimer_restart oracle_watch(struct hrtimer *timer);

#define qdisc_watchdog_init(watchdog, sch) ((watchdog)->timer.function = oracle_watch)
#define qdisc_watchdog_schedule_ns(watchdog, at) oracle_set_hrtimer(&(watchdog)->timer, at)
#define qdisc_watchdog_cancel(watchdog) oracle_forget_timer(&(watchdog)->timer)

/* Scheduling time: 64 ns */
typedef u64 psched_time_t;
#define PSCHED_SHIFT 6
#define PSCHED_NS2TICKS(ns) ((u64)(ns) >> PSCHED_SHIFT)
#define PSCHED_TICKS2NS(ticks) ((u64)(ticks) << PSCHED_SHIFT)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)
#define psched_get_time() PSCHED_NS2TICKS(oracle_now_ns())

#endif
