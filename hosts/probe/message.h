/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a prober's datagram. Both ends are this program on machines of one byte
 * order; the mark distinguishes ours from another sender's load.
 */
#ifndef PROBE_MESSAGE_H
#define PROBE_MESSAGE_H

#include <stdint.h>

#include "common/shared.h"

#define HEADER_BYTES (ETHERNET_BYTES + 20u + 8u) /* Ethernet, IPv4, UDP */
#define MESSAGE_MARK 0x6e626531u

/* The sequence, in the records, of a datagram that is not a prober's. */
#define UNNUMBERED UINT32_MAX

struct message {
	uint32_t mark;
	uint32_t sequence;
	uint32_t flags;
	uint32_t reserved;
	int64_t reflected_ns; /* from here on only in an echo */
	int64_t returned_ns;
};

/* What every frame holds; an echo holds all of it. */
#define NUMBER_BYTES 16u
#define LEAST_ECHO_BYTES (HEADER_BYTES + (uint32_t)sizeof(struct message))

#endif
