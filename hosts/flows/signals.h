/* SPDX-License-Identifier: Apache-2.0 */
/* SIGTERM, SIGINT and SIGHUP end the loop in an orderly way; SIGPIPE is ignored. */
#ifndef FLOWS_SIGNALS_H
#define FLOWS_SIGNALS_H

#include "loop.h"

struct signals {
	struct watch watch;
	struct loop *loop;
};

int signals_open(struct signals *signals, struct loop *loop);
void signals_close(struct signals *signals);

#endif
