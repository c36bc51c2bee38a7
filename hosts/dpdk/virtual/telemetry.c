/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Postcards in virtual time: to the lane's collector at once. Nothing waits, nothing is lost. */
#include "plane/telemetry.h"

#include <stdlib.h>

struct lane {
	bool running;
	bool stopped;
	struct collector *collector;
};

struct telemetry {
	uint32_t n_lanes;
	struct lane lanes[];
};

struct telemetry *
telemetry_create(uint32_t n_lanes, uint32_t n_loops, uint32_t service_core)
{
	struct telemetry *t = calloc(1, sizeof(*t) + n_lanes * sizeof(t->lanes[0]));

	if (t != NULL)
		t->n_lanes = n_lanes;
	return t;
}

void
telemetry_destroy(struct telemetry *t)
{
	for (uint32_t i = 0; i < t->n_lanes; i++)
		if (t->lanes[i].collector != NULL)
			collector_close(t->lanes[i].collector);
	free(t);
}

int
telemetry_open(struct telemetry *t, uint32_t lane, struct collector *collector)
{
	t->lanes[lane] = (struct lane){.collector = collector};
	return 0;
}

void
telemetry_start(struct telemetry *t, uint32_t lane)
{
	t->lanes[lane].running = true;
}

void
telemetry_add(struct telemetry *t, uint32_t lane, const uint8_t *bytes)
{
	if (t->lanes[lane].running)
		collector_add(t->lanes[lane].collector, bytes);
}

void
telemetry_stop(struct telemetry *t, uint32_t lane)
{
	t->lanes[lane].running = false;
	t->lanes[lane].stopped = true;
}

bool
telemetry_is_collecting(const struct telemetry *t, uint32_t lane)
{
	return t->lanes[lane].collector != NULL;
}

bool
telemetry_is_stopped(const struct telemetry *t, uint32_t lane)
{
	return t->lanes[lane].stopped;
}

bool
telemetry_finish(struct telemetry *t, uint32_t lane, struct collector_stats *stats, uint64_t *lost)
{
	*stats = collector_close(t->lanes[lane].collector);
	t->lanes[lane].collector = NULL;
	*lost = 0;
	return true;
}
