/* SPDX-License-Identifier: Apache-2.0 */
#include "arrivals.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/beside.h"

#define PLACE "xdp/arrival.bpf.o"

void
arrivals_choose(struct config *config)
{
	struct failure reason = {0};
	char path[PATH_BYTES];

	/* A device's options are told apart by commas. */
	if (beside(PLACE, path, sizeof(path), &reason) < 0 || access(path, R_OK) != 0 ||
	    strchr(path, ',') != NULL)
		return;
	for (int id = 0; id < N_WIRES; id++) {
		struct wire_config *wire = &config->wires[id];

		if (wire->driver == DRIVER_AF_XDP && wire->device[0] != '\0')
			snprintf(wire->xdp, sizeof(wire->xdp), "%s", path);
	}
}
