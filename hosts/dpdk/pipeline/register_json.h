/* SPDX-License-Identifier: Apache-2.0 */
/* What P4 counts, as answers and summaries show it. */
#ifndef NASHBED_REGISTER_JSON_H
#define NASHBED_REGISTER_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "registers.h"

/* A lane's histogram of queueing delay: counts, trailing zeros cut. */
json_t *register_json_histogram(struct pipeline *p, uint32_t lane);

/* {"<reason>_packets", "<reason>_bytes"} of what went unshaped. */
json_t *register_json_unshaped(struct pipeline *p);

#endif
