/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lane's line: when a packet has left, and what it takes of the limit. */
#ifndef NASHBED_LINE_H
#define NASHBED_LINE_H

#include "common/nanoseconds.h"
#include "common/shared.h"
#include "lane_config.h"
#include "line_schedule.h"

static inline void
line_limit(const struct lane_config *config, uint64_t limit, struct aqm_line *line)
{
	bool counts_packets = config->limit.unit == UNIT_PACKETS;

	line->limit_packets = counts_packets ? limit : 0;
	line->limit_bytes = counts_packets ? 0 : limit;
	if (config->limit.unit == UNIT_CELLS)
		line->limit_bytes *= config->limit.cell_bytes;
}

/* What a discipline is told of the line before anything is queued. */
static inline void
line_describe(const struct lane_config *config, struct aqm_line *line)
{
	line->rate_bps = config->rate_bps;
	line->overhead_bytes = config->overhead_bytes;
	/* Of a packet that a shaper lets go, all bits leave at once. */
	line->counts_sent =
		config->limit_counts == LIMIT_COUNTS_SYSTEM || config->shaper.burst_bytes > 0;
	line_limit(config, config->limit.value, line);
}

static inline uint64_t
line_units(const struct lane_config *config, uint32_t bytes)
{
	switch (config->limit.unit) {
	case UNIT_PACKETS:
		return 1;
	case UNIT_CELLS:
		return (bytes + config->limit.cell_bytes - 1) / config->limit.cell_bytes;
	case UNIT_BYTES:
	default:
		return bytes;
	}
}

static inline struct exact_time
later_of(struct exact_time a, uint64_t ns)
{
	if (ns > a.ns)
		return (struct exact_time){.ns = ns};
	return a;
}

static inline uint64_t
line_bits(const struct lane_config *config, uint32_t bytes)
{
	return 8 * ((uint64_t)bytes + config->overhead_bytes);
}

/* When the last bit of a packet has left whose first bit leaves at t. */
static inline struct exact_time
line_departure(const struct lane_config *config, struct exact_time t, uint32_t bytes)
{
	uint64_t parts = line_bits(config, bytes) * SECOND_NS + t.part;

	t.ns += parts / config->rate_bps;
	t.part = parts % config->rate_bps;
	return t;
}

/* The limit's unit, for people. */
static inline const char *
line_unit_name(enum unit unit)
{
	static const char *const names[] = {"bytes", "packets", "cells"};

	return names[unit];
}

#endif
