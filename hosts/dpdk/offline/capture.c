/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <inttypes.h>

#include <rte_mbuf.h>

#include "capture_file.h"
#include "common/nanoseconds.h"

#define LINK_TYPE_ETHERNET 1u

/* departures.pcap has 32 bits for the seconds of a departure. */
#define LATEST_FIRST_NS ((UINT64_C(1) << 32) * SECOND_NS - CAPTURE_CLOCK_END_NS)

static double
seconds(uint64_t ns)
{
	return (double)ns / (double)SECOND_NS;
}

static int
begin(struct capture *c, uint64_t time_ns, struct failure *failure)
{
	c->first_ns = time_ns;
	if (time_ns <= LATEST_FIRST_NS)
		return 0;
	return failure_set(
		failure, EXIT_STATUS_CONFIG,
		"%s: begins after the 3rd of February 2106, where a pcap file's times end; "
		"set its times back with editcap -t",
		c->path);
}

static int
step_back(struct capture *c, uint64_t back_ns, struct failure *failure)
{
	c->backwards++;
	c->furthest_back_ns = RTE_MAX(c->furthest_back_ns, back_ns);
	if (back_ns <= CAPTURE_STEP_BACK_NS)
		return 0;
	failure_set(failure, EXIT_STATUS_CONFIG,
		    "%s: packet %" PRIu64 " is %.6f s before packet %" PRIu64, c->path, c->packets,
		    seconds(back_ns), c->last_packet);
	if (c->last_packet > 1)
		failure_append(failure, ", which is %.6f s after those before it",
			       seconds(c->last_pause_ns));
	failure_append(failure, "; if only their order is wrong, sort them with reordercap; if a "
				"time is wrong, cut the packet out with editcap");
	return -1;
}

static int
step_forward(struct capture *c, uint64_t t, struct failure *failure)
{
	c->last_pause_ns = t - c->last_ns;
	c->last_ns = t;
	c->last_packet = c->packets;
	if (c->last_pause_ns > c->longest_pause_ns) {
		c->longest_pause_ns = c->last_pause_ns;
		c->longest_pause_packet = c->packets;
	}
	if (t < CAPTURE_CLOCK_END_NS)
		return 0;
	return failure_set(failure, EXIT_STATUS_CONFIG,
			   "%s: packet %" PRIu64
			   " comes more than 78 hours after the first, and %.6f "
			   "s after those before it; the switch clock has 48 bits: split the file "
			   "with editcap, or cut out a packet with a wrong time",
			   c->path, c->packets, seconds(c->last_pause_ns));
}

/* The packet's time becomes the latest one, unless it is before that. */
static int
pass_time(struct capture *c, uint64_t time_ns, struct failure *failure)
{
	if (c->packets == 1 && begin(c, time_ns, failure) < 0)
		return -1;
	if (time_ns < c->first_ns + c->last_ns)
		return step_back(c, c->first_ns + c->last_ns - time_ns, failure);
	return step_forward(c, time_ns - c->first_ns, failure);
}

static int
check_packet(const struct capture *c, const struct file_packet *packet, struct failure *failure)
{
	if (packet->link_type != LINK_TYPE_ETHERNET)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " is of link type %" PRIu32
				   "; only Ethernet (1) can be replayed",
				   c->path, c->packets, packet->link_type);
	if (packet->bytes > RTE_MBUF_DEFAULT_DATAROOM)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64 " has %u bytes, more than %u; capture "
				   "with TSO, GSO and GRO off",
				   c->path, c->packets, packet->bytes, RTE_MBUF_DEFAULT_DATAROOM);
	return 0;
}

/* The frame as it was sent: without its FCS, and without what was put behind it later. A stamper may
 * add to a frame, and to the bytes captured, but not to its length.
 */
static struct capture_packet
as_sent(struct capture *c, const struct file_packet *p)
{
	uint32_t fcs_bytes = RTE_MIN(p->fcs_bytes, p->bytes);
	uint32_t bytes = p->bytes - fcs_bytes;
	struct capture_packet sent = {.frame = p->frame, .now_ns = c->last_ns};

	sent.look = frame_look(p->frame, RTE_MIN(p->captured, bytes), bytes);
	sent.captured = RTE_MIN(p->captured, sent.look.bytes);
	c->fcs_packets += fcs_bytes > 0;
	c->trailer_packets += sent.look.bytes < bytes || p->captured > p->bytes;
	if (sent.look.reason != FRAME_LOOKED_AT)
		c->not_looked_at[sent.look.reason]++;
	return sent;
}

static int
hand_over(struct capture *c, const struct file_packet *packet, capture_handler handle,
	  void *context, struct failure *failure)
{
	struct capture_packet sent;

	c->packets++;
	if (check_packet(c, packet, failure) < 0 || pass_time(c, packet->time_ns, failure) < 0)
		return -1;
	sent = as_sent(c, packet);
	return handle(context, &sent);
}

int
capture_read(struct capture *c, capture_handler handle, void *context, struct failure *failure)
{
	struct capture_file *file = capture_file_open(c->path, failure);
	struct file_packet packet;
	int got, result = 0;

	if (file == NULL)
		return -1;
	*c = (struct capture){.path = c->path};
	while (result == 0 && (got = capture_file_next(file, &packet, failure)) == 1)
		result = hand_over(c, &packet, handle, context, failure);
	capture_file_close(file);
	return result < 0 ? result : got;
}
