/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Registers as JSON, the same in answers of the control socket and in a replay's summary. */
#ifndef NASHBED_REGISTER_JSON_H
#define NASHBED_REGISTER_JSON_H

#include <jansson.h>

#include "registers.h"

/* "histogram_bin_ns" and "histogram", up to its last bin that is not 0. */
int register_json_add_histogram(json_t *object, struct pipeline *p, uint32_t lane,
				struct failure *failure);

/* "<reason>_packets" and "<reason>_bytes" of what passed unshaped. */
int register_json_add_unshaped(json_t *object, struct pipeline *p, struct failure *failure);

#endif
