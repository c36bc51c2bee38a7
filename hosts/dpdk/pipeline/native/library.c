/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Compiled with DPDK's internal header of exactly the installed version (headers.py),
 * because DPDK builds pipelines from libraries with its own kinds of ports only.
 */
#include "library.h"

#include <errno.h>
#include <stdbool.h>

#include <rte_swx_pipeline_internal.h>

/* Defined by the generated file. */
extern const unsigned char native_spec[];
extern const size_t native_spec_bytes;

/* Whether DPDK's structure is the one that this was compiled for. Its counts are at its end, so
 * that a difference anywhere in it shows.
 */
static bool
is_same(const struct rte_swx_pipeline *pipeline, const struct rte_swx_ctl_pipeline_info *info)
{
	return pipeline->n_ports_in == info->n_ports_in &&
	       pipeline->n_ports_out == info->n_ports_out &&
	       pipeline->n_mirroring_slots == info->n_mirroring_slots &&
	       pipeline->n_tables == info->n_tables && pipeline->n_actions == info->n_actions &&
	       pipeline->n_regarrays == info->n_regarrays && pipeline->build_done == 1;
}

static int
set_ports(struct rte_swx_pipeline *pipeline, const struct rte_swx_ctl_pipeline_info *info,
	  const struct native_ports *ports)
{
	if (!is_same(pipeline, info))
		return -ELIBBAD;
	pipeline->in[0] = (struct port_in_runtime){
		.pkt_rx = ports->in_ops->pkt_rx,
		.obj = ports->in,
	};
	for (uint32_t i = 0; i < ports->n_out; i++)
		pipeline->out[i] = (struct port_out_runtime){
			.pkt_tx = ports->out_ops->pkt_tx,
			.pkt_fast_clone_tx = ports->out_ops->pkt_fast_clone_tx,
			.pkt_clone_tx = ports->out_ops->pkt_clone_tx,
			.flush = ports->out_ops->flush,
			.obj = ports->out[i],
		};
	return 0;
}

/* rte_swx_pipeline_run gives each of SWX's threads its turn, one instruction, whether it has a
 * packet or not: with one packet, nine of ten instructions were looks for a second. So here there
 * are no more threads than packets. Between two bursts all threads wait for a packet, and it is
 * the same which of them gets one.
 */
static void
run(struct rte_swx_pipeline *pipeline, uint32_t n, const uint32_t *n_out)
{
	pipeline->thread_id = 0;
	while (*n_out < n) {
		const struct thread *thread = &pipeline->threads[pipeline->thread_id];

		pipeline->instruction_table[thread->ip->type](pipeline);
		if (pipeline->thread_id >= n)
			pipeline->thread_id = 0;
	}
}

const struct native_library native_library = {
	.dpdk = "DPDK " NATIVE_DPDK,
	.spec = native_spec,
	.spec_bytes = &native_spec_bytes,
	.set_ports = set_ports,
	.run = run,
};
