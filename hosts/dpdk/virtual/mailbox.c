/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Without threads a request to the data thread is a call. */
#include "plane/mailbox.h"

#include <stddef.h>

#include "plane/dataplane.h"

void
mailbox_wake(const struct mailbox *box)
{
	(void)box;
}

int
mailbox_call(struct mailbox *box, mailbox_request_t run, void *argument)
{
	struct dataplane *dp =
		(struct dataplane *)((char *)box - offsetof(struct dataplane, mailbox));

	return run(dp, argument);
}
