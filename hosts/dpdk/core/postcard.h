/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How long a postcard is: that of a packet of a lane with several queues says its queue behind what
 * all of them say.
 */
#ifndef NASHBED_POSTCARD_H
#define NASHBED_POSTCARD_H

#include <string.h>

#include "common/shared.h"

#define POSTCARD_BYTES_MAX (POSTCARD_BYTES + QUEUE_POSTCARD_BYTES)

static inline uint32_t
postcard_size(const uint8_t *bytes)
{
	return postcard_version(bytes) == POSTCARD_VERSION_QUEUES ? POSTCARD_BYTES_MAX :
								    POSTCARD_BYTES;
}

/* There is room for the longest. Returns its size. */
static inline uint32_t
postcard_copy(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, POSTCARD_BYTES);
	if (postcard_size(from) == POSTCARD_BYTES)
		return POSTCARD_BYTES;
	memcpy(to + POSTCARD_BYTES, from + POSTCARD_BYTES, QUEUE_POSTCARD_BYTES);
	return POSTCARD_BYTES_MAX;
}

#endif
