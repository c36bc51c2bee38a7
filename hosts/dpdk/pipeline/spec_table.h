/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The .spec's tables: keys, actions, default action, size. */
#ifndef NASHBED_SPEC_TABLE_H
#define NASHBED_SPEC_TABLE_H

#include <rte_swx_pipeline.h>

#include "spec_text.h"

/* table NAME { key {} actions {} default_action NAME args none [const] size N }, from its
 * first line on.
 */
int spec_table_load(struct spec_text *spec, struct rte_swx_pipeline *pipeline,
		    const struct spec_line *head);

#endif
