/* SPDX-License-Identifier: Apache-2.0 */
/* Notes every datagram and sends back those that ask for it, until told to end. */
#ifndef PROBE_REFLECTOR_H
#define PROBE_REFLECTOR_H

#include "config.h"

int reflector_run(const struct config *config, struct failure *failure);

#endif
