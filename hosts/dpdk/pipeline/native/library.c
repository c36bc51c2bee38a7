/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with DPDK's internal header of exactly the installed version (headers.py),
 * because DPDK builds pipelines from libraries with its own kinds of ports only.
 */
#include "library.h"

#include <rte_swx_pipeline_internal.h>

/* Defined by the generated file. */
extern const unsigned char native_spec[];
extern const size_t native_spec_bytes;

static void
set_ports(struct rte_swx_pipeline *pipeline, const struct native_ports *ports)
{
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
}

const struct native_library native_library = {
	.dpdk = "DPDK " NATIVE_DPDK,
	.spec = native_spec,
	.spec_bytes = &native_spec_bytes,
	.set_ports = set_ports,
};
