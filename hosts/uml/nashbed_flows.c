// SPDX-License-Identifier: GPL-2.0-only
/* The flows' data in the guest's kernel: sockets of the flow generator are served by one kernel
 * thread, with the calls that the process would have made, when it would have made them. A switch
 * to a thread of the kernel costs nothing on the host; one to a process costs two switches there.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <asm/unistd.h>
#if __has_include(<sysdep/syscalls.h>) /* declares sys_call_table in 6.12; asm/syscall.h in 7.3 */
#include <sysdep/syscalls.h>
#else
#include <asm/syscall.h>
#endif
#include "nashbed_flows.h"

#define READ_BYTES (1u << 30)
#define OPEN 1

struct flow {
	struct list_head ready; /* in the queue of the thread, or empty */
	struct list_head all;	/* of one generator: */
	const struct list_head *owner;
	struct socket *sock; /* with a reference of its file */
	u32 mode;
	int ended;
	u64 bytes;
	s64 first_ns;
	s64 last_ns;
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
};

static LIST_HEAD(queue);
static DEFINE_SPINLOCK(queue_lock);
static DEFINE_MUTEX(serving); /* a flow that is served is not given back meanwhile */
static struct task_struct *server;
static struct page *zeros; /* a compound page of NASHBED_FLOWS_WRITE_BYTES: what is sent */

struct page *nashbed_flows_zeros(void)
{
	return zeros;
}

static void enqueue(struct flow *flow)
{
	unsigned long flags;

	spin_lock_irqsave(&queue_lock, flags);
	if (list_empty(&flow->ready))
		list_add_tail(&flow->ready, &queue);
	spin_unlock_irqrestore(&queue_lock, flags);
	wake_up_process(server);
}

static struct flow *dequeue(void)
{
	struct flow *flow;
	unsigned long flags;

	spin_lock_irqsave(&queue_lock, flags);
	flow = list_first_entry_or_null(&queue, struct flow, ready);
	if (flow)
		list_del_init(&flow->ready);
	spin_unlock_irqrestore(&queue_lock, flags);
	return flow;
}

static void on_data(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (flow)
		enqueue(flow);
}

static void on_order_only(struct sock *sk)
{
}

/* As sk_stream_write_space(), which would wake the process. */
static void on_space(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (!flow || !sk->sk_socket || !__sk_stream_is_writeable(sk, 1))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	enqueue(flow);
}

/* Data that waits goes first; then what ended the connection, which is told once only. */
static void receive(struct flow *flow)
{
	struct msghdr msg = {.msg_flags = MSG_DONTWAIT};
	int n;

	if (flow->ended != OPEN)
		return;
	n = kernel_recvmsg(flow->sock, &msg, NULL, 0, READ_BYTES, MSG_TRUNC | MSG_DONTWAIT);
	if (n > 0) {
		flow->last_ns = ktime_get_ns();
		if (!flow->first_ns)
			flow->first_ns = flow->last_ns;
		flow->bytes += n;
	} else if (n != -EAGAIN) {
		flow->ended = n;
	}
}

/* One write of the process's: it ends with PSH, as that does. */
static int write_bulk(struct socket *sock)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return kernel_sendpage(sock, zeros, 0, NASHBED_FLOWS_WRITE_BYTES,
			       MSG_DONTWAIT | MSG_NOSIGNAL);
#else
	struct msghdr msg = {.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES};
	struct bio_vec bytes;

	bvec_set_page(&bytes, zeros, NASHBED_FLOWS_WRITE_BYTES, 0);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bytes, 1, NASHBED_FLOWS_WRITE_BYTES);
	return sock_sendmsg(sock, &msg);
#endif
}

/* As a process that polls: one write, then the others, then again if there is still room. */
static void send_bulk(struct flow *flow)
{
	int n = write_bulk(flow->sock);
	struct sock *sk = flow->sock->sk;

	if (n < 0 && n != -EAGAIN)
		return; /* the process learns of it by epoll */
	if (__sk_stream_is_writeable(sk, 1)) {
		enqueue(flow);
		return;
	}
	/* As tcp_poll(): ask to be told, and look once more. */
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	smp_mb__after_atomic();
	if (__sk_stream_is_writeable(sk, 1))
		enqueue(flow);
}

static int serve(void *unused)
{
	struct flow *flow;

	for (;;) {
		set_current_state(TASK_IDLE);
		if (list_empty(&queue))
			schedule();
		__set_current_state(TASK_RUNNING);
		mutex_lock(&serving);
		while ((flow = dequeue()) != NULL) {
			if (flow->mode == NASHBED_FLOWS_SEND)
				send_bulk(flow);
			else
				receive(flow);
		}
		mutex_unlock(&serving);
	}
	return 0;
}

/* Put our functions in place of a socket's, or its own back. */
static void hook(struct flow *flow)
{
	struct sock *sk = flow->sock->sk;

	lock_sock(sk);
	flow->data_ready = sk->sk_data_ready;
	flow->write_space = sk->sk_write_space;
	sk->sk_user_data = flow;
	if (flow->mode == NASHBED_FLOWS_SEND)
		sk->sk_write_space = on_space;
	else /* The process is told of nothing but the end. */
		sk->sk_data_ready = flow->mode == NASHBED_FLOWS_RECEIVE ? on_data : on_order_only;
	release_sock(sk);
}

static void unhook(struct flow *flow)
{
	struct sock *sk = flow->sock->sk;

	lock_sock(sk);
	sk->sk_data_ready = flow->data_ready;
	sk->sk_write_space = flow->write_space;
	sk->sk_user_data = NULL;
	release_sock(sk);
}

/* The flow of a socket, where this generator has handed it over. */
static struct flow *find(const struct list_head *flows, const struct socket *sock)
{
	const struct sock *sk = sock->sk;
	bool ours = sk->sk_write_space == on_space || sk->sk_data_ready == on_data ||
		    sk->sk_data_ready == on_order_only;
	struct flow *flow = ours ? sk->sk_user_data : NULL;

	return flow && flow->owner == flows ? flow : NULL;
}

static int take(struct list_head *flows, struct nashbed_flows_take what)
{
	struct flow *flow;
	int err;

	if (what.mode > NASHBED_FLOWS_ON_ORDER)
		return -EINVAL;
	flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	if (!flow)
		return -ENOMEM;
	flow->sock = sockfd_lookup(what.fd, &err);
	if (!flow->sock || flow->sock->sk->sk_protocol != IPPROTO_TCP ||
	    flow->sock->sk->sk_user_data) {
		err = flow->sock ? -EINVAL : err;
		if (flow->sock)
			sockfd_put(flow->sock);
		kfree(flow);
		return err;
	}
	flow->mode = what.mode;
	flow->ended = OPEN;
	INIT_LIST_HEAD(&flow->ready);
	flow->owner = flows;
	list_add_tail(&flow->all, flows);
	hook(flow);
	if (flow->mode != NASHBED_FLOWS_ON_ORDER)
		enqueue(flow); /* what waits already, or the first write */
	return 0;
}

static void give_back(struct flow *flow)
{
	unsigned long flags;

	mutex_lock(&serving);
	unhook(flow);
	spin_lock_irqsave(&queue_lock, flags);
	list_del_init(&flow->ready);
	spin_unlock_irqrestore(&queue_lock, flags);
	mutex_unlock(&serving);
	list_del(&flow->all);
	sockfd_put(flow->sock);
	kfree(flow);
}

static int give_back_fd(struct list_head *flows, int fd)
{
	int err;
	struct socket *sock = sockfd_lookup(fd, &err);
	struct flow *flow = sock ? find(flows, sock) : NULL;

	if (flow)
		give_back(flow);
	if (sock)
		sockfd_put(sock);
	return flow ? 0 : sock ? -EINVAL : err;
}

static int count_flow(struct list_head *flows, struct nashbed_flows_count __user *to)
{
	struct nashbed_flows_count row;
	struct socket *sock;
	struct flow *flow;
	int err;

	if (copy_from_user(&row, to, sizeof(row)))
		return -EFAULT;
	sock = sockfd_lookup(row.fd, &err);
	if (!sock)
		return err;
	flow = find(flows, sock);
	if (flow && flow->mode != NASHBED_FLOWS_SEND) {
		mutex_lock(&serving);
		receive(flow);
		row.ended = flow->ended;
		row.bytes = flow->bytes;
		row.first_ns = flow->first_ns;
		row.last_ns = flow->last_ns;
		mutex_unlock(&serving);
		err = copy_to_user(to, &row, sizeof(row)) ? -EFAULT : 0;
	} else {
		err = -EINVAL;
	}
	sockfd_put(sock);
	return err;
}

static u32 read_cc(struct sock *sk, u8 *to)
{
	const struct tcp_congestion_ops *ca = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info;
	size_t bytes = 0;
	int attribute;

	memset(&info, 0, sizeof(info));
	if (ca && ca->get_info)
		bytes = min(ca->get_info(sk, ~0U, &attribute, &info), sizeof(info));
	memcpy(to, &info, min_t(size_t, bytes, NASHBED_FLOWS_CC_BYTES));
	return bytes;
}

/* All rows of a call are of one instant. */
static int sample_flow(struct nashbed_flows_sample __user *to, s64 now_ns)
{
	static struct nashbed_flows_sample row; /* under `serving` */
	struct tcp_info info;
	struct socket *sock;
	int err;

	if (get_user(row.fd, &to->fd))
		return -EFAULT;
	sock = sockfd_lookup(row.fd, &err);
	if (!sock)
		return err;
	if (sock->sk->sk_protocol != IPPROTO_TCP) {
		sockfd_put(sock);
		return -EINVAL;
	}
	memset(row.info, 0, sizeof(row.info));
	tcp_get_info(sock->sk, &info);
	memcpy(row.info, &info, min_t(size_t, sizeof(info), sizeof(row.info)));
	memset(row.cc, 0, sizeof(row.cc));
	row.cc_bytes = read_cc(sock->sk, row.cc);
	row.t_ns = now_ns;
	sockfd_put(sock);
	return copy_to_user(to, &row, sizeof(row)) ? -EFAULT : 0;
}

static int for_rows(struct list_head *flows, unsigned int what, const void __user *from)
{
	struct nashbed_flows_rows rows;
	s64 now_ns = ktime_get_ns();
	int err = 0;
	u64 i;

	if (copy_from_user(&rows, from, sizeof(rows)))
		return -EFAULT;
	for (i = 0; i < rows.count && !err; i++) {
		void __user *to = (void __user *)(uintptr_t)rows.rows;

		if (what == NASHBED_FLOWS_READ) {
			err = count_flow(flows, (struct nashbed_flows_count __user *)to + i);
			continue;
		}
		mutex_lock(&serving);
		err = sample_flow((struct nashbed_flows_sample __user *)to + i, now_ns);
		mutex_unlock(&serving);
	}
	return err;
}

typedef long call_t(long, long, long, long, long, long);

static void make_call(struct nashbed_flows_call *calls, struct nashbed_flows_call *call)
{
	call_t *function = (call_t *)sys_call_table[call->number];
	u64 *a = call->arguments;

	if (call->fd_of >= 0)
		a[call->fd_argument] = calls[call->fd_of].result;
	call->result = function(a[0], a[1], a[2], a[3], a[4], a[5]);
}

static bool is_call(const struct nashbed_flows_call *call, u64 earlier)
{
	return call->number >= 0 && call->number < __NR_syscalls && call->fd_of < (s64)earlier &&
	       call->fd_argument < 6;
}

static bool is_as_expected(const struct nashbed_flows_call *call)
{
	return call->expected == NASHBED_FLOWS_ANY ? call->result >= 0
						   : call->result == call->expected;
}

static long make_calls(const void __user *from)
{
	struct nashbed_flows_call calls[NASHBED_FLOWS_CALLS_MAX];
	struct nashbed_flows_rows rows;
	u64 made = 0;

	if (copy_from_user(&rows, from, sizeof(rows)))
		return -EFAULT;
	if (rows.count > NASHBED_FLOWS_CALLS_MAX)
		return -EINVAL;
	if (copy_from_user(calls, (void __user *)(uintptr_t)rows.rows,
			   rows.count * sizeof(calls[0])))
		return -EFAULT;
	while (made < rows.count) {
		if (!is_call(&calls[made], made))
			return -EINVAL;
		make_call(calls, &calls[made]);
		if (!is_as_expected(&calls[made++]))
			break;
	}
	return copy_to_user((void __user *)(uintptr_t)rows.rows, calls, made * sizeof(calls[0]))
		       ? -EFAULT
		       : (long)made;
}

static long flows_ioctl(struct file *file, unsigned int what, unsigned long argument)
{
	void __user *from = (void __user *)argument;
	struct list_head *flows = file->private_data;
	struct nashbed_flows_take order;
	s32 fd;

	switch (what) {
	case NASHBED_FLOWS_TAKE:
		return copy_from_user(&order, from, sizeof(order)) ? -EFAULT : take(flows, order);
	case NASHBED_FLOWS_GIVE_BACK:
		return copy_from_user(&fd, from, sizeof(fd)) ? -EFAULT : give_back_fd(flows, fd);
	case NASHBED_FLOWS_CALL:
		return make_calls(from);
	case NASHBED_FLOWS_READ:
	case NASHBED_FLOWS_SAMPLE:
		return for_rows(flows, what, from);
	default:
		return -ENOTTY;
	}
}

static int flows_open(struct inode *inode, struct file *file)
{
	struct list_head *flows = kmalloc(sizeof(*flows), GFP_KERNEL);

	if (!flows)
		return -ENOMEM;
	INIT_LIST_HEAD(flows);
	file->private_data = flows;
	return 0;
}

static int flows_release(struct inode *inode, struct file *file)
{
	struct list_head *flows = file->private_data;

	while (!list_empty(flows))
		give_back(list_first_entry(flows, struct flow, all));
	kfree(flows);
	return 0;
}

static const struct proc_ops flows_ops = {
	.proc_open = flows_open,
	.proc_release = flows_release,
	.proc_ioctl = flows_ioctl,
};

static int __init flows_init(void)
{
	zeros = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO,
			    get_order(NASHBED_FLOWS_WRITE_BYTES));
	if (!zeros)
		return -ENOMEM;
	server = kthread_run(serve, NULL, "nashbed_flows");
	if (IS_ERR(server))
		return PTR_ERR(server);
	sched_set_fifo(server); /* before the processes, at the instant itself */
	return proc_create("nashbed_flows", 0600, NULL, &flows_ops) ? 0 : -ENOMEM;
}
device_initcall(flows_init);
