/* SPDX-License-Identifier: Apache-2.0 */
#include "capture_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nanoseconds.h"

/* Of a record that claims more, libpcap and Wireshark believe nothing either. */
#define LONGEST_FRAME 262144u
#define LONGEST_BLOCK (UINT32_C(1) << 24)

#define PCAP_HEADER_BYTES 24u
#define PCAP_RECORD_BYTES 16u
#define PCAP_VERSION 2u
#define PCAP_MICROSECONDS UINT32_C(0xa1b2c3d4)
#define PCAP_NANOSECONDS UINT32_C(0xa1b23c4d)
#define PCAP_LINK_TYPE UINT32_C(0xffff)
#define PCAP_HAS_FCS UINT32_C(0x04000000)
#define PCAP_FCS_SHIFT 28 /* above it, its length in units of 2 bytes */

#define SECTION_BLOCK UINT32_C(0x0a0d0d0a) /* the same in both byte orders */
#define SECTION_MAGIC UINT32_C(0x1a2b3c4d)
#define BLOCK_BYTES 12u /* type, and length before and behind the body */
enum {
	INTERFACE_BLOCK = 1,
	OLD_PACKET_BLOCK = 2,
	SIMPLE_PACKET_BLOCK = 3,
	PACKET_BLOCK = 6
};
#define PACKET_BODY_BYTES 20u /* before the frame */
#define INTERFACE_BODY_BYTES 8u
enum {
	OPTION_END = 0,
	OPTION_FLAGS = 2,
	OPTION_RESOLUTION = 9,
	OPTION_FCS = 13,
	OPTION_OFFSET = 14
};
#define FLAGS_FCS_SHIFT 5
#define FLAGS_FCS_MASK 0xfu
#define RESOLUTION_BASE_2 0x80u
#define FINEST_DECIMAL 19u /* 10^19 ticks fit 64 bits */

struct interface {
	uint32_t link_type;
	uint32_t fcs_bytes;
	uint64_t ticks_per_second;
	int64_t offset_s;
};

struct capture_file {
	const char *path;
	FILE *stream;
	uint64_t packets;
	bool is_pcapng;
	bool swapped;		      /* against this machine's byte order */
	struct interface *interfaces; /* pcap: one */
	uint32_t n_interfaces;
	uint8_t *body; /* of a block, or a frame */
	uint32_t room;
};

static uint16_t
u16(const struct capture_file *f, const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return f->swapped ? __builtin_bswap16(value) : value;
}

static uint32_t
u32(const struct capture_file *f, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return f->swapped ? __builtin_bswap32(value) : value;
}

static int
damaged(const struct capture_file *f, struct failure *failure, const char *what)
{
	return failure_set(failure, EXIT_STATUS_CONFIG, "%s: damaged after packet %" PRIu64 ": %s",
			   f->path, f->packets, what);
}

/* 1: all n bytes; 0: the file has ended before them; -1 with the failure set. */
static int
take(struct capture_file *f, uint8_t *to, uint32_t n, struct failure *failure)
{
	size_t got = fread(to, 1, n, f->stream);

	if (got == n)
		return 1;
	if (ferror(f->stream))
		return failure_set(failure, EXIT_STATUS_HOST, "%s: %s", f->path, strerror(errno));
	return got == 0 ? 0 : damaged(f, failure, "the file ends within a record");
}

static int
take_body(struct capture_file *f, uint32_t n, struct failure *failure)
{
	int got;

	if (n >= f->room) {
		uint8_t *grown = realloc(f->body, n + 1);

		if (grown == NULL)
			return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
		f->body = grown;
		f->room = n + 1;
	}
	got = n > 0 ? take(f, f->body, n, failure) : 1;
	return got == 0 ? damaged(f, failure, "the file ends within a record") : got;
}

static int
add_interface(struct capture_file *f, const struct interface *made, struct failure *failure)
{
	struct interface *grown =
		realloc(f->interfaces, (f->n_interfaces + 1) * sizeof(*f->interfaces));

	if (grown == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	f->interfaces = grown;
	f->interfaces[f->n_interfaces++] = *made;
	return 0;
}

static int
set_time(const struct capture_file *f, const struct interface *i, uint64_t ticks,
	 struct file_packet *packet, struct failure *failure)
{
	unsigned __int128 fraction = ticks % i->ticks_per_second;
	__int128 t = (__int128)(ticks / i->ticks_per_second) + i->offset_s;

	t = t * SECOND_NS + (__int128)(fraction * SECOND_NS / i->ticks_per_second);
	if (t < 0 || t > INT64_MAX)
		return failure_set(failure, EXIT_STATUS_CONFIG,
				   "%s: packet %" PRIu64
				   " is not of the years 1970 to 2262; set its "
				   "time with editcap -t",
				   f->path, f->packets + 1);
	packet->time_ns = (uint64_t)t;
	return 0;
}

static int
next_of_pcap(struct capture_file *f, struct file_packet *packet, struct failure *failure)
{
	const struct interface *i = f->interfaces;
	uint8_t record[PCAP_RECORD_BYTES];
	uint32_t fraction;
	int got = take(f, record, sizeof(record), failure);

	if (got != 1)
		return got;
	fraction = u32(f, record + 4);
	if (fraction >= i->ticks_per_second)
		return failure_set(
			failure, EXIT_STATUS_CONFIG,
			"%s: packet %" PRIu64 " has %" PRIu32 " %s in a second%s", f->path,
			f->packets + 1, fraction,
			i->ticks_per_second == SECOND_NS ? "nanoseconds" : "microseconds",
			fraction < SECOND_NS ?
				"; if they are nanoseconds, the file must begin with the "
				"magic number a1b23c4d" :
				"; cut it out with editcap");
	*packet = (struct file_packet){
		.time_ns =
			u32(f, record) * SECOND_NS + fraction * (SECOND_NS / i->ticks_per_second),
		.captured = u32(f, record + 8),
		.bytes = u32(f, record + 12),
		.fcs_bytes = i->fcs_bytes,
		.link_type = i->link_type,
	};
	if (packet->captured > LONGEST_FRAME)
		return damaged(f, failure, "a packet claims more than 262144 captured bytes");
	got = take_body(f, packet->captured, failure);
	packet->frame = f->body;
	return got;
}

/* The value of an option of at least so many bytes; NULL where there is none. */
static const uint8_t *
find_option(const struct capture_file *f, const uint8_t *at, const uint8_t *end, uint16_t code,
	    uint32_t bytes)
{
	while (end - at >= 4 && u16(f, at) != OPTION_END) {
		uint32_t length = u16(f, at + 2);
		uint32_t padded = (length + 3) & ~3u;

		if (padded > (size_t)(end - at) - 4)
			return NULL;
		if (u16(f, at) == code)
			return length >= bytes ? at + 4 : NULL;
		at += 4 + padded;
	}
	return NULL;
}

static int64_t
seconds_at(const struct capture_file *f, const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return (int64_t)(f->swapped ? __builtin_bswap64(value) : value);
}

/* By if_tsresol: a negative power of 2 or of 10. 0: finer than 64 bits. */
static uint64_t
ticks_by(uint8_t resolution)
{
	uint32_t exponent = resolution & ~RESOLUTION_BASE_2;
	uint64_t ticks = 1;

	if (resolution & RESOLUTION_BASE_2)
		return exponent < 64 ? UINT64_C(1) << exponent : 0;
	if (exponent > FINEST_DECIMAL)
		return 0;
	while (exponent-- > 0)
		ticks *= 10;
	return ticks;
}

static int
describe_interface(struct capture_file *f, const uint8_t *end, struct failure *failure)
{
	const uint8_t *options = f->body + INTERFACE_BODY_BYTES;
	const uint8_t *resolution, *fcs, *offset;
	struct interface made;

	if (end < options)
		return damaged(f, failure, "an interface without a description");
	resolution = find_option(f, options, end, OPTION_RESOLUTION, 1);
	fcs = find_option(f, options, end, OPTION_FCS, 1);
	offset = find_option(f, options, end, OPTION_OFFSET, 8);
	made = (struct interface){
		.link_type = u16(f, f->body),
		/* Earlier texts of the format had it in bits. */
		.fcs_bytes = fcs == NULL  ? 0 :
			     fcs[0] >= 16 ? fcs[0] / 8u :
					    fcs[0],
		.ticks_per_second = ticks_by(resolution ? resolution[0] : 6),
		.offset_s = offset ? seconds_at(f, offset) : 0,
	};
	if (made.ticks_per_second == 0)
		return damaged(f, failure, "an interface has times finer than 64 bits can hold");
	return add_interface(f, &made, failure);
}

/* A packet of a block whose body ends there: 1, or -1. */
static int
packet_of_block(struct capture_file *f, uint32_t type, const uint8_t *end,
		struct file_packet *packet, struct failure *failure)
{
	const uint8_t *body = f->body, *flags;
	const struct interface *i;
	uint32_t number, padded;

	if (end - body < (ptrdiff_t)PACKET_BODY_BYTES)
		return damaged(f, failure, "a packet block without room for its header");
	number = type == OLD_PACKET_BLOCK ? u16(f, body) : u32(f, body);
	if (number >= f->n_interfaces)
		return damaged(f, failure, "a packet of an interface that is not described");
	i = &f->interfaces[number];
	*packet = (struct file_packet){
		.frame = body + PACKET_BODY_BYTES,
		.captured = u32(f, body + 12),
		.bytes = u32(f, body + 16),
		.fcs_bytes = i->fcs_bytes,
		.link_type = i->link_type,
	};
	padded = (packet->captured + 3) & ~3u;
	if (packet->captured > LONGEST_FRAME || padded > (size_t)(end - packet->frame))
		return damaged(f, failure, "a packet block claims a frame that is not in it");
	flags = find_option(f, packet->frame + padded, end, OPTION_FLAGS, 4);
	if (flags != NULL && (u32(f, flags) >> FLAGS_FCS_SHIFT & FLAGS_FCS_MASK) != 0)
		packet->fcs_bytes = u32(f, flags) >> FLAGS_FCS_SHIFT & FLAGS_FCS_MASK;
	if (set_time(f, i, (uint64_t)u32(f, body + 4) << 32 | u32(f, body + 8), packet, failure) <
	    0)
		return -1;
	return 1;
}

/* The length of a block that has begun, of a section in that section's byte order; 0 with the
 * failure set. The section's magic number has been read, too.
 */
static uint32_t
begin_block(struct capture_file *f, const uint8_t *head, struct failure *failure)
{
	uint8_t magic[4];
	uint32_t length;

	if (u32(f, head) == SECTION_BLOCK) {
		if (take(f, magic, sizeof(magic), failure) != 1) {
			damaged(f, failure, "the file ends within a record");
			return 0;
		}
		f->swapped = false;
		f->swapped = u32(f, magic) != SECTION_MAGIC;
		f->n_interfaces = 0;
		if (u32(f, magic) != SECTION_MAGIC) {
			damaged(f, failure, "a section without a byte order");
			return 0;
		}
	}
	length = u32(f, head + 4);
	if (length >= BLOCK_BYTES + 4 * (u32(f, head) == SECTION_BLOCK) && length % 4 == 0 &&
	    length <= LONGEST_BLOCK)
		return length;
	damaged(f, failure, "a block of an impossible length");
	return 0;
}

static int
next_of_pcapng(struct capture_file *f, struct file_packet *packet, struct failure *failure)
{
	uint8_t head[8];
	int got, result = 0;

	while (result == 0 && (got = take(f, head, sizeof(head), failure)) == 1) {
		uint32_t length = begin_block(f, head, failure);
		uint32_t type = u32(f, head);
		uint32_t rest = length - 8 - 4 * (type == SECTION_BLOCK);
		const uint8_t *end;

		if (length == 0 || take_body(f, rest, failure) < 0)
			return -1;
		end = f->body + rest - 4;
		if (u32(f, end) != length)
			return damaged(f, failure, "a block's two lengths differ");
		if (type == INTERFACE_BLOCK)
			result = describe_interface(f, end, failure);
		else if (type == PACKET_BLOCK || type == OLD_PACKET_BLOCK)
			result = packet_of_block(f, type, end, packet, failure);
		else if (type == SIMPLE_PACKET_BLOCK)
			result = failure_set(failure, EXIT_STATUS_CONFIG,
					     "%s: packet %" PRIu64
					     " has no time (a simple packet block); "
					     "capture again with times",
					     f->path, f->packets + 1);
	}
	return result != 0 ? result : got;
}

int
capture_file_next(struct capture_file *f, struct file_packet *packet, struct failure *failure)
{
	int got = f->is_pcapng ? next_of_pcapng(f, packet, failure) :
				 next_of_pcap(f, packet, failure);

	if (got == 1)
		f->packets++;
	return got;
}

/* A file that begins with this magic number: its header is taken. -1: it is no capture. */
static int
take_header(struct capture_file *f, struct failure *failure)
{
	uint8_t header[PCAP_HEADER_BYTES];
	uint32_t magic, link;
	struct interface only;

	if (fread(header, 1, sizeof(header), f->stream) != sizeof(header))
		return -1;
	magic = u32(f, header);
	if (magic == SECTION_BLOCK) {
		f->is_pcapng = true;
		rewind(f->stream);
		return 0;
	}
	f->swapped = magic != PCAP_MICROSECONDS && magic != PCAP_NANOSECONDS;
	magic = u32(f, header);
	if ((magic != PCAP_MICROSECONDS && magic != PCAP_NANOSECONDS) ||
	    u16(f, header + 4) != PCAP_VERSION)
		return -1;
	link = u32(f, header + 20);
	only = (struct interface){
		.link_type = link & PCAP_LINK_TYPE,
		.fcs_bytes = link & PCAP_HAS_FCS ? 2 * (link >> PCAP_FCS_SHIFT) : 0,
		.ticks_per_second = magic == PCAP_NANOSECONDS ? SECOND_NS : 1000000,
	};
	return add_interface(f, &only, failure);
}

struct capture_file *
capture_file_open(const char *path, struct failure *failure)
{
	struct capture_file *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		failure_set(failure, EXIT_STATUS_HOST, "out of memory");
		return NULL;
	}
	f->path = path;
	f->stream = fopen(path, "rb");
	if (f->stream == NULL) {
		failure_set(failure, EXIT_STATUS_CONFIG, "%s: %s", path, strerror(errno));
	} else if (take_header(f, failure) == 0) {
		return f;
	} else {
		failure_set(failure, EXIT_STATUS_CONFIG,
			    "%s: not a capture that can be read; it must be pcap or pcapng", path);
	}
	capture_file_close(f);
	return NULL;
}

void
capture_file_close(struct capture_file *f)
{
	if (f->stream != NULL)
		fclose(f->stream);
	free(f->interfaces);
	free(f->body);
	free(f);
}
