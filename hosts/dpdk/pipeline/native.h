/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The P4 program as native code, where the build made it: pipeline/native/bottleneck.so
 * beside the data plane. It is used only for the .spec and the DPDK version that it was
 * built from; anything else is interpreted.
 */
#ifndef NASHBED_NATIVE_H
#define NASHBED_NATIVE_H

#include <rte_swx_pipeline.h>

#include "common/failure.h"
#include "config/config.h"
#include "native/library.h"

/* Why the program is interpreted although there is a library; "": nothing to report. */
struct native_note {
	char text[1024];
};

/* Settle whether the program is native code, so that the mode is no longer auto. It fails
 * where it must be native and cannot.
 */
int native_choose(struct config *config, struct native_note *note, struct failure *failure);

/* Build a pipeline of it with these ports; native is there as long as the pipeline. 0 or a
 * negative errno.
 */
int native_build(struct rte_swx_pipeline **pipeline, const char *name, const char *library,
		 const struct native_ports *ports, const struct native_library **native);

#endif
