/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_EAL_H
#define NASHBED_EAL_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

/* Start DPDK for this configuration; in a replay with neither ports nor huge
 * pages nor root. 0, or a negative errno with one line that says what to do.
 */
int eal_start(const struct config *config, bool replay, char *error, size_t error_bytes);

/* Print the EAL's arguments that open the configured ports, one per line. */
void eal_print_wires(const struct config *config);

#endif
