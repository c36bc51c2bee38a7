/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <inttypes.h>
#include <pcap/pcap.h>

#include <rte_mbuf.h>

#include "common/nanoseconds.h"

static pcap_t *
open_capture(const char *path, struct failure *failure)
{
	char reason[PCAP_ERRBUF_SIZE];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, reason);

	if (pcap == NULL) {
		failure_set(failure, EXIT_STATUS_CONFIG, "%s: not a capture that can be read: %s",
			    path, reason);
		return NULL;
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		failure_set(failure, EXIT_STATUS_CONFIG,
			    "%s: link type %s; only Ethernet captures can be replayed", path,
			    pcap_datalink_val_to_name(pcap_datalink(pcap)));
		pcap_close(pcap);
		return NULL;
	}
	return pcap;
}

static uint64_t
switch_time(struct capture *c, const struct pcap_pkthdr *header)
{
	/* With nanosecond precision tv_usec holds nanoseconds. */
	uint64_t t = (uint64_t)header->ts.tv_sec * SECOND_NS + (uint64_t)header->ts.tv_usec;

	if (c->packets == 0)
		c->first_ns = t;
	if (t < c->first_ns + c->last_ns)
		c->backwards++;
	else
		c->last_ns = t - c->first_ns;
	return c->last_ns;
}

/* Whether a packet can be replayed, as far as it alone shows. */
static int
check_packet(const struct capture *c, const struct capture_packet *packet, struct failure *failure)
{
	if (packet->captured > packet->bytes)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " says that %u bytes of its %u were "
				   "captured",
				   c->path, c->packets, packet->captured, packet->bytes);
	if (packet->bytes > RTE_MBUF_DEFAULT_DATAROOM)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " has %u bytes, more than %u; capture "
				   "with TSO, GSO and GRO off",
				   c->path, c->packets, packet->bytes, RTE_MBUF_DEFAULT_DATAROOM);
	if (packet->now_ns >= CAPTURE_CLOCK_END_NS)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " comes more than 78 hours after the "
				   "first; the switch clock has 48 bits",
				   c->path, c->packets);
	return 0;
}

static int
hand_over(struct capture *c, const struct pcap_pkthdr *header, const uint8_t *frame,
	  capture_handler handle, void *context, struct failure *failure)
{
	struct capture_packet packet = {
		.frame = frame,
		.captured = header->caplen,
		.bytes = header->len,
		.now_ns = switch_time(c, header),
	};

	c->packets++;
	if (check_packet(c, &packet, failure) < 0)
		return -1;
	return handle(context, &packet);
}

int
capture_read(struct capture *c, capture_handler handle, void *context, struct failure *failure)
{
	pcap_t *pcap = open_capture(c->path, failure);
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	int next, result = 0;

	if (pcap == NULL)
		return -1;
	*c = (struct capture){.path = c->path};
	while (result == 0 && (next = pcap_next_ex(pcap, &header, &frame)) == 1)
		result = hand_over(c, header, frame, handle, context, failure);
	if (result == 0 && next != PCAP_ERROR_BREAK)
		result = failure_set(failure, EXIT_STATUS_CONFIG,
				     "%s: damaged after packet %" PRIu64 ": %s", c->path,
				     c->packets, pcap_geterr(pcap));
	pcap_close(pcap);
	return result;
}
