/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Postcards in virtual time: to the lane's collector at once. Nothing waits, nothing is lost. */
#include "plane/telemetry.h"

#include <stdlib.h>

struct lane {
	bool running;
	struct collector *collector;
};

struct telemetry {
	uint32_t n_lanes;
	struct lane lanes[];
};

struct telemetry *
telemetry_create(uint32_t n_lanes, uint32_t service_core)
{
	struct telemetry *t = calloc(1, sizeof(*t) + n_lanes * sizeof(t->lanes[0]));

	(void)service_core;
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

void
telemetry_start(struct telemetry *t, uint32_t lane, struct collector *collector)
{
	t->lanes[lane] = (struct lane){.running = true, .collector = collector};
}

void
telemetry_add(struct telemetry *t, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES])
{
	if (t->lanes[lane].running)
		collector_add(t->lanes[lane].collector, bytes);
}

void
telemetry_stop(struct telemetry *t, uint32_t lane)
{
	t->lanes[lane].running = false;
}

bool
telemetry_is_collecting(const struct telemetry *t, uint32_t lane)
{
	return t->lanes[lane].collector != NULL;
}

struct collector_stats
telemetry_finish(struct telemetry *t, uint32_t lane, uint64_t *lost)
{
	struct collector *collector = t->lanes[lane].collector;

	t->lanes[lane].collector = NULL;
	*lost = 0;
	return collector_close(collector);
}
