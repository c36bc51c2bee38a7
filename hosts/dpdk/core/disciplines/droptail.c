/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Drop-tail: first in, first out. What does not fit is refused before it is asked
 * (traffic_lane.c), as by every discipline that makes no room.
 */
#include "../aqm.h"

static int
init(void *state, const void *config, const struct aqm_line *line, uint64_t seed)
{
	fifo_init(state, sizeof(struct queue_packet));
	return 0;
}

static bool
enqueue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	return aqm_push(state, packet);
}

static const struct aqm_param no_params[] = {{.name = NULL}};

const struct aqm_ops droptail_ops = {
	.abi = AQM_ABI,
	.name = "droptail",
	.help = "first in, first out; what does not fit is dropped",
	.params = no_params,
	.state_bytes = sizeof(struct fifo),
	.init = init,
	.fini = aqm_free_queue,
	.enqueue = enqueue,
	.dequeue = aqm_first_out,
};
