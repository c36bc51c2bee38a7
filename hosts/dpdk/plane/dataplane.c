/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "dataplane.h"

#include <stdlib.h>

#include <rte_eal.h>

#include "io/eal.h"

static const struct role_ops *const role_ops[N_ROLES] = {
	[ROLE_BOTTLENECK] = &role_bottleneck,
	[ROLE_HOSTS] = &role_hosts,
};

static int
open_wires(struct dataplane *dp, struct failure *failure)
{
	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(&dp->config, (enum wire_id)id) &&
		    wire_open(&dp->wires[id], &dp->config.wires[id], (enum wire_id)id, dp->pool,
			      failure) < 0)
			return -1;
	return 0;
}

int
dataplane_open(struct dataplane *dp, struct failure *failure)
{
	if (eal_start(&dp->config, failure) < 0)
		return -1;
	dp->pool = eal_packet_pool(&dp->config, failure);
	if (dp->pool == NULL)
		return -1;
	dp->epoch_ns = dataplane_epoch_ns();
	dp->role = role_ops[dp->config.role];
	dp->lanes = calloc(dp->config.lanes, sizeof(*dp->lanes));
	dp->telemetry = telemetry_create(dp->config.lanes, dp->config.service_core);
	if (dp->lanes == NULL || dp->telemetry == NULL ||
	    hold_ups_init(&dp->hold_ups, dp->config.lanes, dp->role->gives_back, dp->epoch_ns) < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	return dp->role->open(dp, failure) < 0 ? -1 : open_wires(dp, failure);
}

void
dataplane_close(struct dataplane *dp)
{
	dp->role->close(dp);
	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(&dp->config, (enum wire_id)id))
			wire_close(&dp->wires[id]);
	telemetry_destroy(dp->telemetry);
	hold_ups_free(&dp->hold_ups);
	free(dp->lanes);
	rte_eal_cleanup();
}

void
dataplane_postcard(void *context, uint32_t lane, const uint8_t bytes[POSTCARD_BYTES])
{
	struct dataplane *dp = context;

	dp->lanes[lane].postcards++;
	telemetry_add(dp->telemetry, lane, bytes);
}

void
dataplane_stop(struct dataplane *dp)
{
	atomic_store(&dp->stop, true);
	mailbox_wake(&dp->mailbox);
}
