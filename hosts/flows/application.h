/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What limits the flows of a group instead of the network alone, as the configuration has it. A
 * group that has no application sends bulk data.
 */
#ifndef FLOWS_APPLICATION_H
#define FLOWS_APPLICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json_fields.h"

#define APPLICATIONS_MAX 16 /* flow groups of a lane */
#define LADDER_MAX 16

enum application_kind {
	APPLICATION_RATE,   /* writes at a constant rate */
	APPLICATION_ON_OFF, /* bulk data while it is on, nothing while it is off */
	APPLICATION_VIDEO,  /* segments, one after the other, as a player asks for them */
	APPLICATION_UDP,    /* paced datagrams without any congestion control */
};

struct ladder {
	uint64_t bps[LADDER_MAX]; /* ascending */
	uint32_t rungs;
};

struct application {
	uint32_t group;
	enum application_kind kind;
	uint64_t rate_bps;     /* rate; udp: 0 where each interval has one packet */
	int64_t on_ns;	       /* on_off */
	int64_t off_ns;	       /* on_off */
	struct ladder ladder;  /* video */
	int64_t segment_ns;    /* video */
	int64_t buffer_ns;     /* video */
	uint32_t packet_bytes; /* udp: the largest payload */
	int64_t every_ns;      /* udp: 0 where the rate spaces packets */
};

/* The keys of an application, and the check when they are read. */
extern const struct json_field application_fields[];
int application_check(const struct json_place *place, void *structure);

/* How many bytes a rate makes of a time, whole ones, without overflow. */
uint64_t application_bytes(uint64_t rate_bps, uint64_t intervals, int64_t interval_ns);

#endif
