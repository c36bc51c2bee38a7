/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The P4 program as native code: a shared library of the C that DPDK generated from a
 * .spec and of library.c, which uses DPDK's internal structures. The data plane sees only
 * this table of it.
 */
#ifndef NASHBED_NATIVE_LIBRARY_H
#define NASHBED_NATIVE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>

#define NATIVE_LIBRARY_SYMBOL "native_library"

/* One input port, and output ports by their numbers. */
struct native_ports {
	const struct rte_swx_port_in_ops *in_ops;
	const struct rte_swx_port_out_ops *out_ops;
	void *in;
	void **out;
	uint32_t n_out;
};

struct native_library {
	const char *dpdk;	   /* rte_version() of the headers that it was built with */
	const unsigned char *spec; /* the whole .spec that it was generated from */
	const size_t *spec_bytes;
	/* Replace the ports that a pipeline was built with by ours; -ELIBBAD where its structures are
	 * not those that the library was built for. DPDK's own functions tell info: the library calls
	 * none, as a guest loads DPDK where the library does not see it.
	 */
	int (*set_ports)(struct rte_swx_pipeline *pipeline,
			 const struct rte_swx_ctl_pipeline_info *info,
			 const struct native_ports *ports);
	/* Run until n packets, all that the input port has, are out; n_out counts them. */
	void (*run)(struct rte_swx_pipeline *pipeline, uint32_t n, const uint32_t *n_out);
};

#endif
