/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Compiled with DPDK's internal header of exactly the installed version (headers.py),
 * because DPDK builds pipelines from libraries with its own kinds of ports only.
 */
#include "library.h"

#include <errno.h>

#include <rte_swx_pipeline_internal.h>

/* Defined by the generated file. */
extern const unsigned char native_spec[];
extern const size_t native_spec_bytes;

static int
set_ports(struct rte_swx_pipeline *pipeline, const struct native_ports *ports)
{
	/* At the end of the structure, so that a difference anywhere in it shows. */
	if (pipeline->n_ports_in != 1 || pipeline->n_ports_out != ports->n_out ||
	    pipeline->thread_id != 0 || pipeline->build_done != 1)
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
