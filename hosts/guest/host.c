/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const side_names[] = {"snd", "rcv", NULL};

static const char *const interfaces[] = {"nb0", "nb1"};
static int namespaces[N_SIDES] = {-1, -1};

static int
host_error(struct failure *failure, const char *what)
{
	return failure_set(failure, EXIT_STATUS_HOST, "%s: %s", what, strerror(errno));
}

static int
own_namespace(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

int
hosts_make(struct failure *failure)
{
	namespaces[SENDERS] = own_namespace();
	if (namespaces[SENDERS] < 0 || unshare(CLONE_NEWNET) < 0)
		return host_error(failure, "network namespace");
	namespaces[RECEIVERS] = own_namespace();
	if (namespaces[RECEIVERS] < 0)
		return host_error(failure, "network namespace");
	return host_enter(SENDERS, failure);
}

int
host_enter(enum side side, struct failure *failure)
{
	return setns(namespaces[side], CLONE_NEWNET) == 0 ? 0 : host_error(failure, "setns");
}

static int
set_up(int socket_fd, const char *interface)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	if (ioctl(socket_fd, SIOCGIFFLAGS, &request) < 0)
		return -1;
	request.ifr_flags |= IFF_UP;
	return ioctl(socket_fd, SIOCSIFFLAGS, &request);
}

int
host_bring_up(enum side side, struct failure *failure)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_up = fd >= 0 && set_up(fd, "lo") == 0 && set_up(fd, interfaces[side]) == 0;
	int result = is_up ? 0 : host_error(failure, interfaces[side]);

	if (fd >= 0)
		close(fd);
	return result;
}

struct prefix {
	struct in_addr address;
	uint8_t bits;
};

static int
read_prefix(const char *text, struct prefix *prefix, struct failure *failure)
{
	char address[INET_ADDRSTRLEN] = "";
	unsigned int bits = 0;
	char rest;

	if (sscanf(text, "%15[0-9.]/%2u%c", address, &bits, &rest) != 2 || bits > 32 ||
	    inet_pton(AF_INET, address, &prefix->address) != 1)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s is not an address with a prefix length like 10.64.0.1/16",
				   text);
	prefix->bits = (uint8_t)bits;
	return 0;
}

/* A request to the kernel's routing, with room for a few attributes. */
struct routing_request {
	struct nlmsghdr header;
	union {
		struct ifaddrmsg address;
		struct rtmsg route;
		struct tcmsg traffic;
	};
	char attributes[128];
};

static void
add_attribute(struct routing_request *request, uint16_t type, const void *data, uint16_t bytes)
{
	struct rtattr *attribute =
		(struct rtattr *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), data, bytes);
	request->header.nlmsg_len =
		NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

/* The kernel's answer, as far as it fits: 0 or -1 with errno set. */
static int
ask_routing(struct routing_request *request, uint16_t flags, void *answer, size_t bytes)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const struct nlmsghdr *header = answer;
	ssize_t n = -1;

	request->header.nlmsg_flags = NLM_F_REQUEST | flags;
	if (fd >= 0 && send(fd, request, request->header.nlmsg_len, 0) >= 0)
		n = recv(fd, answer, bytes, 0);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -1;
	errno = header->nlmsg_type == NLMSG_ERROR ?
			-((const struct nlmsgerr *)NLMSG_DATA(header))->error :
			0;
	return errno == 0 ? 0 : -1;
}

static int
change_routing(struct routing_request *request)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[1024];
	} answer = {0};

	return ask_routing(request, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &answer, sizeof(answer));
}

int
host_add_address(enum side side, const char *text, struct failure *failure)
{
	struct routing_request request = {
		.header = {.nlmsg_type = RTM_NEWADDR,
			   .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg))},
		.address = {.ifa_family = AF_INET, .ifa_index = if_nametoindex(interfaces[side])},
	};
	struct prefix prefix;

	if (read_prefix(text, &prefix, failure) < 0)
		return -1;
	request.address.ifa_prefixlen = prefix.bits;
	add_attribute(&request, IFA_LOCAL, &prefix.address, sizeof(prefix.address));
	return change_routing(&request) == 0 ? 0 : host_error(failure, text);
}

int
host_add_route(enum side side, const char *network, const char *source, struct failure *failure)
{
	struct routing_request request = {
		.header = {.nlmsg_type = RTM_NEWROUTE,
			   .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg))},
		.route = {.rtm_family = AF_INET,
			  .rtm_table = RT_TABLE_MAIN,
			  .rtm_protocol = RTPROT_STATIC,
			  .rtm_scope = RT_SCOPE_LINK,
			  .rtm_type = RTN_UNICAST},
	};
	uint32_t index = if_nametoindex(interfaces[side]);
	struct prefix to, from;

	if (read_prefix(network, &to, failure) < 0 || read_prefix(source, &from, failure) < 0)
		return -1;
	request.route.rtm_dst_len = to.bits;
	add_attribute(&request, RTA_DST, &to.address, sizeof(to.address));
	add_attribute(&request, RTA_PREFSRC, &from.address, sizeof(from.address));
	add_attribute(&request, RTA_OIF, &index, sizeof(index));
	return change_routing(&request) == 0 ? 0 : host_error(failure, network);
}

int
host_set_sysctl(const char *name, const char *value, struct failure *failure)
{
	char path[256];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	for (char *dot = path + strlen("/proc/sys/"); *dot != '\0'; dot++)
		if (*dot == '.')
			*dot = '/';
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		n = write(fd, value, strlen(value));
	if (n < 0)
		host_error(failure, name);
	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

static struct routing_request
qdisc_request(enum side side, uint16_t type)
{
	return (struct routing_request){
		.header = {.nlmsg_type = type, .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg))},
		.traffic = {.tcm_ifindex = (int)if_nametoindex(interfaces[side]),
			    .tcm_parent = TC_H_ROOT},
	};
}

int
host_set_qdisc(enum side side, const char *kind, struct failure *failure)
{
	struct routing_request request = qdisc_request(side, RTM_NEWQDISC);

	add_attribute(&request, TCA_KIND, kind, (uint16_t)(strlen(kind) + 1));
	return change_routing(&request) == 0 ? 0 : host_error(failure, kind);
}

static void
take_attribute(struct qdisc *qdisc, struct rtattr *attribute)
{
	struct tc_fq_qd_stats of_fq;
	struct tc_stats counts;

	switch (attribute->rta_type) {
	case TCA_KIND:
		snprintf(qdisc->kind, sizeof(qdisc->kind), "%s", (char *)RTA_DATA(attribute));
		break;
	case TCA_STATS:
		memcpy(&counts, RTA_DATA(attribute), sizeof(counts));
		qdisc->dropped = counts.drops;
		break;
	case TCA_XSTATS:
		if (strcmp(qdisc->kind, "fq") != 0)
			break;
		memcpy(&of_fq, RTA_DATA(attribute), offsetof(struct tc_fq_qd_stats, flows));
		qdisc->throttled = of_fq.throttled;
		break;
	default:
		break;
	}
}

int
host_read_qdisc(enum side side, struct qdisc *qdisc, struct failure *failure)
{
	struct routing_request request = qdisc_request(side, RTM_GETQDISC);
	struct {
		struct nlmsghdr header;
		struct tcmsg traffic;
		char attributes[2048];
	} answer = {0};
	size_t bytes;

	*qdisc = (struct qdisc){0};
	/* To others who listen it would be told in any case; to who asks only as an echo. */
	if (ask_routing(&request, NLM_F_ACK | NLM_F_ECHO, &answer, sizeof(answer)) < 0)
		return host_error(failure, "qdisc");
	bytes = TCA_PAYLOAD(&answer.header);
	for (struct rtattr *each = TCA_RTA(&answer.traffic); RTA_OK(each, bytes);
	     each = RTA_NEXT(each, bytes))
		take_attribute(qdisc, each);
	return 0;
}
