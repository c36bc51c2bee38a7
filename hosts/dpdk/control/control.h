/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: UNIX stream, one JSON object per line each way. */
#ifndef NASHBED_CONTROL_H
#define NASHBED_CONTROL_H

#include "common/failure.h"
#include "live/dataplane.h"

struct control;

/* Listen and start the control thread. NULL with the failure set. */
struct control *control_start(struct dataplane *dp, struct failure *failure);

/* Wait for the thread, which ends with dp->stop, while doing the requests it
 * may still have; remove the socket.
 */
void control_join(struct control *control);

#endif
