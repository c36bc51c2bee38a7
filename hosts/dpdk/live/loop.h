/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_LOOP_H
#define NASHBED_LOOP_H

#include "plane/dataplane.h"

/* Run until dp->stop: polling, or sleeping until the next event. */
void loop_run(struct dataplane *dp);

#endif
