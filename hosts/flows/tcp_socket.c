/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp_socket.h"

#define AVAILABLE_PATH "/proc/sys/net/ipv4/tcp_available_congestion_control"

/*
 * What asks for ECN of a single socket. net.ipv4.tcp_ecn is of a namespace, which flows with and
 * without ECN share; but a socket whose CCA needs ECN asks for it in its SYN, and one that listens
 * grants it, whatever that setting is. Once a connection has ECN, any CCA may follow.
 */
#define ECN_CC "dctcp"

static void
read_available(char *text, int size)
{
	FILE *file = fopen(AVAILABLE_PATH, "re");

	if (file == NULL || fgets(text, size, file) == NULL)
		snprintf(text, (size_t)size, "unknown");
	text[strcspn(text, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
}

static int
cc_refused(const char *who, const char *cc, int error, struct failure *failure)
{
	char available[256];

	if (error != ENOENT)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "%s: cannot use congestion control '%s': %s%s", who, cc,
				   strerror(error), error == EPERM ? "; run as root" : "");
	read_available(available, sizeof(available));
	return failure_set(failure, EXIT_STATUS_HOST,
			   "%s: the kernel has no congestion control '%s' (available: %s)", who, cc,
			   available);
}

static int
set_cc(int fd, const char *cc, const char *who, struct failure *failure)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) < 0)
		return cc_refused(who, cc, errno, failure);
	return 0;
}

int
tcp_socket_set_cc(int fd, const struct flow_config *flow, struct failure *failure)
{
	char name[FLOW_NAME_BYTES];

	return set_cc(fd, flow->cc, flow_name(flow, name), failure);
}

int
tcp_socket_ask_for_ecn(int fd, struct failure *failure)
{
	return set_cc(fd, ECN_CC, "ECN", failure);
}

int
tcp_socket_set_dscp(int fd, const struct flow_config *flow, struct failure *failure)
{
	const int tos = flow->dscp << 2;
	char name[FLOW_NAME_BYTES];

	if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: cannot set DSCP %u: %s",
				   flow_name(flow, name), flow->dscp, strerror(errno));
	return 0;
}

static int
bind_to(int fd, const struct sockaddr_in *source)
{
	const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -1;
	return bind(fd, (const struct sockaddr *)source, sizeof(*source));
}

static int
bind_source(int fd, const struct flow_config *flow, struct failure *failure)
{
	char name[FLOW_NAME_BYTES];

	if (bind_to(fd, &flow->source) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: cannot bind the source: %s",
				   flow_name(flow, name), strerror(errno));
	return 0;
}

static int
limit_unsent(int fd, const struct flow_config *flow, unsigned int bytes, struct failure *failure)
{
	char name[FLOW_NAME_BYTES];

	if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes)) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: TCP_NOTSENT_LOWAT: %s",
				   flow_name(flow, name), strerror(errno));
	return 0;
}

/* A transfer that is no larger than the limit has one system call less. */
static bool
needs_limit(const struct flow_config *flow, unsigned int unsent_bytes)
{
	return flow->bytes == 0 || flow->bytes > unsent_bytes;
}

int
tcp_socket_open(const struct flow_config *flow, unsigned int unsent_bytes, struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char name[FLOW_NAME_BYTES];

	if (fd < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: cannot open a socket: %s",
				   flow_name(flow, name), strerror(errno));
	if (tcp_socket_set_cc(fd, flow, failure) < 0 || bind_source(fd, flow, failure) < 0 ||
	    (needs_limit(flow, unsent_bytes) &&
	     limit_unsent(fd, flow, unsent_bytes, failure) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

int
tcp_socket_send_at_once(int fd)
{
	const int on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void
tcp_socket_accept_with_data(int fd)
{
	const int seconds = 60; /* after which it is there without, which does no harm */

	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
}

int
tcp_socket_wake_at(int fd, unsigned int bytes)
{
	const int least = (int)bytes;

	return setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
}

int
tcp_socket_open_control(const struct sockaddr_in *source, struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind_to(fd, source) == 0 && tcp_socket_send_at_once(fd) == 0)
		return fd;
	failure_set(failure, EXIT_STATUS_HOST, "cannot open a control connection: %s",
		    strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int
tcp_socket_read_cc(int fd, char cc[static CC_NAME_BYTES])
{
	socklen_t length = CC_NAME_BYTES - 1;

	memset(cc, 0, CC_NAME_BYTES);
	return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &length);
}

int
tcp_socket_notify_acks(int fd, const struct flow_config *flow, struct failure *failure)
{
	const unsigned int what =
		SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;
	char name[FLOW_NAME_BYTES];

	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &what, sizeof(what)) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: SO_TIMESTAMPING: %s",
				   flow_name(flow, name), strerror(errno));
	return 0;
}

void
tcp_socket_drop_notices(int fd)
{
	char control[256];
	struct msghdr message;

	do
		message =
			(struct msghdr){.msg_control = control, .msg_controllen = sizeof(control)};
	while (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

int
tcp_socket_unacknowledged(int fd)
{
	int bytes = 0;

	ioctl(fd, SIOCOUTQ, &bytes);
	return bytes;
}

int
tcp_socket_error(int fd)
{
	socklen_t length = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return errno;
	return error;
}

/* An older kernel fills in less of it. */
static struct tcp_info
read_info(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info;
}

bool
tcp_socket_has_ecn(int fd)
{
	return (read_info(fd).tcpi_options & TCPI_OPT_ECN) != 0;
}

struct tcp_segments
tcp_socket_segments(int fd)
{
	struct tcp_info info = read_info(fd);

	return (struct tcp_segments){
		.sent = info.tcpi_segs_out,
		.received_data = info.tcpi_data_segs_in,
	};
}

void
tcp_socket_abort(int fd)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}
