/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

#include "common/clock.h"
#include "datagram.h"

__extension__ typedef unsigned __int128 wide;

/* The times and rates that its kind divides by, or waits for, are not 0. */
int
check_application(const struct json_place *place, void *structure)
{
	const struct application *a = structure;

	switch (a->kind) {
	case KIND_RATE:
		return a->rate_bps > 0 ? 0 : -1;
	case KIND_ON_OFF:
		return a->on_ns > 0 && a->off_ns > 0 ? 0 : -1;
	case KIND_VIDEO:
		return a->n_ladder > 0 && a->segment_ns >= MILLISECOND_NS &&
				       a->buffer_ns >= 2 * a->segment_ns ?
			       0 :
			       -1;
	case KIND_UDP:
		return a->packet_bytes >= DATAGRAM_BYTES_MIN &&
				       (a->rate_bps > 0 || a->every_ns > 0) ?
			       0 :
			       -1;
	}
	return 0;
}

uint64_t
application_bytes(uint64_t rate_bps, uint64_t intervals, int64_t interval_ns)
{
	return (uint64_t)((wide)rate_bps * intervals * (uint64_t)interval_ns / 8 / SECOND_NS);
}
