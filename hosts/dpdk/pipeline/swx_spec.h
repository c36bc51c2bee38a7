/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* From a p4c-dpdk .spec to a configured SWX pipeline, through the public
 * rte_swx_pipeline_*_config() calls: Debian's DPDK 22.11 has no call that does
 * this from a file without a compiler at hand.
 */
#ifndef NASHBED_SWX_SPEC_H
#define NASHBED_SWX_SPEC_H

#include <stdio.h>

#include <rte_swx_pipeline.h>

#include "common/failure.h"

#define SWX_DIGEST_BYTES 80

/* Configure everything that the file declares. The failure names the line of the file. */
int swx_spec_load(struct rte_swx_pipeline *pipeline, FILE *file, struct failure *failure);

/* The digest of the P4 sources stamped on the file's first line; "" if none. */
void swx_spec_digest(FILE *file, char digest[SWX_DIGEST_BYTES]);

#endif
