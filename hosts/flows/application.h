/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What limits the flows of a group instead of the network alone, as the configuration has it. A
 * group that has no application sends bulk data.
 */
#ifndef FLOWS_APPLICATION_H
#define FLOWS_APPLICATION_H

#include <netinet/in.h>

#include "common/json_fields.h"
#include "generator_structures.h"

/* When its keys are read. */
int check_application(const struct json_place *place, void *structure);

/* How many bytes a rate makes of a time, whole ones, without overflow. */
uint64_t application_bytes(uint64_t rate_bps, uint64_t intervals, int64_t interval_ns);

#endif
