/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

#include "common/clock.h"
#include "common/shared.h"
#include "datagram.h"

__extension__ typedef unsigned __int128 wide;

static const char *const kind_names[] = {"rate", "on_off", "video", "udp", NULL};

static const struct json_field rung_item = {
	.kind = &as_number, .bytes = sizeof(uint64_t), .min = 1, .max = RATE_BPS_MAX};

#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct application, key, member, reader, ##__VA_ARGS__)
/* What its kind does not have is 0, and left out. */
#define NUMBER_FIELD(member, ...)                                                                  \
	FIELD(#member, member, as_number, .optional = true, .unless_zero = true, ##__VA_ARGS__)

const struct json_field application_fields[] = {
	FIELD("group", group, as_number, .max = UINT16_MAX),
	FIELD("kind", kind, as_choice, .choices = kind_names),
	NUMBER_FIELD(rate_bps, .max = RATE_BPS_MAX),
	NUMBER_FIELD(on_ns, .max = DURATION_NS_MAX),
	NUMBER_FIELD(off_ns, .max = DURATION_NS_MAX),
	NUMBER_FIELD(segment_ns, .max = DURATION_NS_MAX),
	NUMBER_FIELD(buffer_ns, .max = DURATION_NS_MAX),
	NUMBER_FIELD(packet_bytes, .min = DATAGRAM_BYTES_MIN, .max = DATAGRAM_BYTES_MAX),
	NUMBER_FIELD(every_ns, .max = DURATION_NS_MAX),
	JSON_LIST(struct application, "ladder", ladder.bps, ladder.rungs, rung_item, .min = 1,
		  .max = LADDER_MAX, .optional = true, .unless_zero = true),
	{0},
};

/* The times and rates that its kind divides by, or waits for, are not 0. */
int
application_check(const struct json_place *place, void *structure)
{
	const struct application *a = structure;

	switch (a->kind) {
	case APPLICATION_RATE:
		return a->rate_bps > 0 ? 0 : -1;
	case APPLICATION_ON_OFF:
		return a->on_ns > 0 && a->off_ns > 0 ? 0 : -1;
	case APPLICATION_VIDEO:
		return a->ladder.rungs > 0 && a->segment_ns >= MILLISECOND_NS &&
				       a->buffer_ns >= 2 * a->segment_ns ?
			       0 :
			       -1;
	case APPLICATION_UDP:
		return a->packet_bytes > 0 && (a->rate_bps > 0 || a->every_ns > 0) ? 0 : -1;
	}
	return 0;
}

uint64_t
application_bytes(uint64_t rate_bps, uint64_t intervals, int64_t interval_ns)
{
	return (uint64_t)((wide)rate_bps * intervals * (uint64_t)interval_ns / 8 / SECOND_NS);
}
