/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a prober reads and writes and a reflector writes: fixed-size records in the
 * machine's byte order. controlplane/contract/records.py has the same layouts.
 */
#ifndef PROBE_RECORDS_H
#define PROBE_RECORDS_H

#include <stdint.h>

#define PROBED_FILE "probed.bin"
#define SEEN_FILE "seen.bin"

#define FLAG_ECHO 1u

/* One frame that a prober is to send. */
struct scheduled {
	int64_t at_ns;	      /* after the start */
	uint16_t socket;      /* index in the configuration */
	uint16_t frame_bytes; /* with the Ethernet header, without FCS */
	uint32_t flags;
};

/* What became of it; 0 where it did not happen. Times are CLOCK_MONOTONIC. */
struct probed {
	int64_t sent_ns;      /* just before it was handed to the kernel */
	int64_t reflected_ns; /* the reflector's kernel received it */
	int64_t returned_ns;  /* just before the reflector sent it back */
	int64_t received_ns;  /* our kernel received it again */
};

/* One datagram that a reflector received. */
struct seen {
	int64_t received_ns; /* by the kernel, CLOCK_MONOTONIC */
	uint32_t sequence;   /* index in the prober's schedule; UNNUMBERED: another sender's */
	uint16_t source_port;
	uint16_t socket;
	uint16_t frame_bytes;
	uint16_t reserved[3];
};

#define UNNUMBERED UINT32_MAX

_Static_assert(sizeof(struct scheduled) == 16, "layout");
_Static_assert(sizeof(struct probed) == 32, "layout");
_Static_assert(sizeof(struct seen) == 24, "layout");

#endif
