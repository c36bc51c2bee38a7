/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paced datagrams: when they are due, how large they are, and what is in them. Pure: the time is
 * an argument.
 *
 * With an interval and a rate each interval begins with a frame of what the rate has made up to
 * its end: full packets and a smaller one for the rest, which waits for the next frame where it is
 * too small for a header. With an interval alone each has one packet; with a rate alone packets
 * are spaced by it.
 */
#ifndef FLOWS_DATAGRAM_H
#define FLOWS_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* As long as RTP's: sequence number (32 bits) and time of sending (64), both big-endian. */
#define DATAGRAM_BYTES_MIN 12
#define DATAGRAM_BYTES_MAX 1472 /* in a frame of 1514 bytes */

struct application;

struct datagram_header {
	uint32_t seq;
	int64_t sent_ns; /* CLOCK_MONOTONIC */
};

struct pacing {
	const struct application *application;
	int64_t start_ns;
	uint64_t frames; /* that were due so far */
	uint64_t sent_bytes;
};

/* When the next frame is due. */
int64_t pacing_next_ns(const struct pacing *pacing);

/* The next frame is due now: its packets follow. */
void pacing_begin_frame(struct pacing *pacing);

/* Payload of the next packet that is due; 0: none is, until the next frame. */
uint32_t pacing_take(struct pacing *pacing);

void datagram_encode(const struct datagram_header *header, uint8_t *bytes);
struct datagram_header datagram_decode(const uint8_t *bytes);

#endif
