/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "dataplane.h"

#include <stdlib.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "io/eal.h"

static const struct role_ops *const role_ops[N_ROLES] = {
	[ROLE_BOTTLENECK] = &role_bottleneck,
	[ROLE_HOSTS] = &role_hosts,
};

int
dataplane_make_loops(struct dataplane *dp, struct failure *failure)
{
	dp->loops = calloc(dp->config.n_loops, sizeof(*dp->loops));
	if (dp->loops == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	for (uint32_t i = 0; i < dp->config.n_loops; i++) {
		dp->loops[i].dp = dp;
		dp->loops[i].share = (struct lane_share){.loop = i, .n_loops = dp->config.n_loops};
	}
	return 0;
}

bool
loop_has_wire(const struct loop *loop, enum wire_id id)
{
	return config_has_wire(&loop->dp->config, id) &&
	       (id != WIRE_TELEMETRY || loop->share.loop == 0);
}

static int
open_wires(struct loop *loop, struct failure *failure)
{
	const struct dataplane *dp = loop->dp;

	for (int id = 0; id < N_WIRES; id++)
		if (loop_has_wire(loop, (enum wire_id)id) &&
		    wire_open(&loop->wires[id], &dp->config.wires[id], (enum wire_id)id,
			      loop->share.loop, loop->pool, failure) < 0)
			return -1;
	return 0;
}

static int
open_loop(struct loop *loop, struct failure *failure)
{
	struct dataplane *dp = loop->dp;

	loop->pool = eal_packet_pool(&dp->config, loop->share.loop, failure);
	if (loop->pool == NULL)
		return -1;
	if (hold_ups_init(&loop->hold_ups, dp->config.lanes, dp->role->gives_back, dp->epoch_ns) <
	    0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	loop->hold_ups.share = loop->share;
	if (dp->role->open(loop, failure) < 0)
		return -1;
	loop->delays->share = loop->share;
	return 0;
}

static int
make_lanes(struct dataplane *dp, struct failure *failure)
{
	uint32_t n = dp->config.lanes;

	dp->lanes = rte_calloc(NULL, n, sizeof(*dp->lanes), RTE_CACHE_LINE_SIZE);
	dp->postcards = rte_calloc(NULL, n, sizeof(*dp->postcards), RTE_CACHE_LINE_SIZE);
	dp->telemetry = telemetry_create(n, dp->config.n_loops, dp->config.service_core);
	if (dp->lanes == NULL || dp->postcards == NULL || dp->telemetry == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	return 0;
}

int
dataplane_open(struct dataplane *dp, struct failure *failure)
{
	if (eal_start(&dp->config, failure) < 0)
		return -1;
	dp->epoch_ns = dataplane_epoch_ns();
	dp->role = role_ops[dp->config.role];
	if (make_lanes(dp, failure) < 0)
		return -1;
	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		if (open_loop(&dp->loops[i], failure) < 0)
			return -1;
	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		if (open_wires(&dp->loops[i], failure) < 0)
			return -1;
	return 0;
}

static void
close_loop(struct loop *loop)
{
	loop->dp->role->close(loop);
	for (int id = 0; id < N_WIRES; id++)
		if (loop_has_wire(loop, (enum wire_id)id))
			wire_close(&loop->wires[id]);
	hold_ups_free(&loop->hold_ups);
}

void
dataplane_close(struct dataplane *dp)
{
	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		close_loop(&dp->loops[i]);
	telemetry_destroy(dp->telemetry);
	rte_free(dp->postcards);
	rte_free(dp->lanes);
	rte_eal_cleanup();
}

struct loop *
dataplane_loop(const struct dataplane *dp, uint32_t lane)
{
	return &dp->loops[lane_share_loop_of(lane, dp->config.n_loops)];
}

struct loop *
dataplane_postcard_loop(const struct dataplane *dp, uint32_t lane)
{
	return dp->config.role == ROLE_HOSTS ? &dp->loops[0] : dataplane_loop(dp, lane);
}

void
dataplane_postcard(void *context, uint32_t lane, const uint8_t *bytes)
{
	struct dataplane *dp = ((struct loop *)context)->dp;

	dp->postcards[lane].n++;
	telemetry_add(dp->telemetry, lane, bytes);
}

void
dataplane_stop(struct dataplane *dp)
{
	atomic_store(&dp->stop, true);
	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		mailbox_wake(&dp->loops[i].mailbox);
}
