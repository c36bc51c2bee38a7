// SPDX-License-Identifier: GPL-2.0-only
/* Processor time of programs, which is free in the guest unless the hosts have a price for it:
 * /proc/sys/nashbed/datagram_ns and kilobyte_ns, for each UDP datagram and each 1000 bytes of its
 * payload, at either end. The call that sent or received it returns so much later. Every thread has
 * a processor of its own: while one waits, the others go on.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/sysctl.h>
#include <linux/udp.h>
#include <linux/version.h>
#include <net/sock.h>
#include <net/udp.h>
#include "nashbed_cpu.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0) /* later ones run no programs of others */

static unsigned int datagram_ns, kilobyte_ns;

static struct ctl_table settings[] = {{
					      .procname = "datagram_ns",
					      .data = &datagram_ns,
					      .maxlen = sizeof(datagram_ns),
					      .mode = 0644,
					      .proc_handler = proc_douintvec,
				      },
				      {
					      .procname = "kilobyte_ns",
					      .data = &kilobyte_ns,
					      .maxlen = sizeof(kilobyte_ns),
					      .mode = 0644,
					      .proc_handler = proc_douintvec,
				      },
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) /* an end that later ones take for an entry */
				      {}
#endif
};

static bool is_charged(const struct socket *sock, int bytes)
{
	const struct sock *sk = sock->sk;

	return (datagram_ns || kilobyte_ns) && bytes >= 0 && current->mm &&
	       sk->sk_protocol == IPPROTO_UDP &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

static void charge(unsigned int datagrams, unsigned int bytes)
{
	ktime_t cost = (u64)datagrams * datagram_ns + div_u64((u64)bytes * kilobyte_ns, 1000);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&cost, HRTIMER_MODE_REL);
}

void nashbed_charge_sent(struct socket *sock, struct msghdr *msg, int bytes)
{
	u16 segment;

	if (!is_charged(sock, bytes))
		return;
	segment = udp_sk(sock->sk)->gso_size;
	if (msg->msg_controllen)
		udp_cmsg_send(sock->sk, msg, &segment);
	charge(segment ? DIV_ROUND_UP(bytes, segment) : 1, bytes);
}

void nashbed_charge_received(struct socket *sock, int bytes, int flags)
{
	if (!(flags & (MSG_PEEK | MSG_ERRQUEUE)) && is_charged(sock, bytes))
		charge(1, bytes);
}

static int __init nashbed_cpu_init(void)
{
	return register_sysctl("nashbed", settings) ? 0 : -ENOMEM;
}
subsys_initcall(nashbed_cpu_init);

#endif
