/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports stamp their frames' arrivals. */
#ifndef NASHBED_ARRIVALS_H
#define NASHBED_ARRIVALS_H

#include "config/config.h"

/* Have the kernel stamp at every AF_XDP port (xdp/arrival.bpf.c). Other drivers tell no times of
 * arrival, or none on this machine's clock.
 */
void arrivals_choose(struct config *config);

#endif
