/* SPDX-License-Identifier: Apache-2.0 */
/* The P4 program as native code, where the build made it: pipeline/native/bottleneck.so
 * beside the data plane. It is used for the very .spec that it was made of, with
 * the very DPDK; anything else is interpreted.
 */
#ifndef NASHBED_NATIVE_H
#define NASHBED_NATIVE_H

#include <stddef.h>

#include <rte_swx_pipeline.h>

#include "config/config.h"
#include "native/library.h"

/* Settle whether the program is native code, so that the mode is auto no more. 0,
 * and in note why it is interpreted, "" where nothing is to be said; or a negative
 * errno with one line in error: it had to be native.
 */
int native_choose(struct config *config, char *note, char *error, size_t bytes);

/* Build a pipeline of it with these ports. 0 or a negative errno. */
int native_build(struct rte_swx_pipeline **pipeline, const char *library,
		 const struct native_ports *ports);

#endif
