/* SPDX-License-Identifier: Apache-2.0 */
/* Records every datagram and sends back those that ask for it, until standard input ends. */
#ifndef PROBE_REFLECTOR_H
#define PROBE_REFLECTOR_H

#include "config.h"

int reflector_run(const struct config *config, struct failure *failure);

#endif
