/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Marking above a threshold, as DCTCP has it (Alizadeh et al. 2010; RFC 8257, 3.1): CE is set in
 * a packet that meets more than K bytes, what is being sent included. One that does not
 * understand ECN is dropped there, as switches do it whose WRED has both thresholds at K, and
 * Linux's sch_red.
 */
#include "core/parameters.h"

struct step {
	struct fifo packets; /* of struct queue_packet */
	uint64_t threshold_bytes;
};

static int
init(void *state, const void *config, const struct aqm_line *line, uint64_t seed)
{
	struct step *s = state;

	fifo_init(&s->packets, sizeof(struct queue_packet));
	s->threshold_bytes = ((const struct step_config *)config)->threshold_bytes;
	return 0;
}

static bool
enqueue(void *state, struct aqm_line *line, struct queue_packet *packet, uint64_t now_ns)
{
	struct step *s = state;

	if (line->bytes + line->sending_bytes > s->threshold_bytes && !aqm_mark(packet)) {
		packet->reason = DROP_EARLY;
		return false;
	}
	return aqm_push(&s->packets, packet);
}

const struct aqm_ops step_ops = {
	.abi = AQM_ABI,
	.name = "step",
	.help = "CE above a threshold (DCTCP; RFC 8257)",
	.params = step_params,
	.config_bytes = sizeof(struct step_config),
	.state_bytes = sizeof(struct step),
	.init = init,
	.fini = aqm_free_queue,
	.enqueue = enqueue,
	.dequeue = aqm_first_out,
};
