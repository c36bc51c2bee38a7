/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One lane's postcards to one file: all of them, one in n, or time bins. Gaps in the
 * lane's sequence numbers are counted in every mode.
 */
#ifndef NASHBED_COLLECTOR_H
#define NASHBED_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bins.h"

enum collector_mode {
	COLLECT_ALL,
	COLLECT_BINS,
};

struct collector_config {
	enum collector_mode mode;
	uint64_t bin_ns;       /* COLLECT_BINS */
	uint64_t start_ns;     /* COLLECT_BINS: no packet arrives earlier; not wrapped */
	uint64_t overtaken_ns; /* COLLECT_BINS: as for bins_create() */
	uint32_t first_flow;
	uint32_t n_flows;
};

struct collector_stats {
	uint64_t seen;
	uint64_t written; /* records */
	uint64_t gaps;	  /* postcards missing by their sequence numbers */
	int error;	  /* the first errno of a write, 0 if none */
};

struct collector;

/* NULL with errno set. The file is truncated. */
struct collector *collector_open(const char *path, const struct collector_config *config);
/* A postcard, as long as its version says (postcard.h). */
void collector_add(struct collector *c, const uint8_t *bytes);
/* Write what is left, close, free; the statistics are final. */
struct collector_stats collector_close(struct collector *c);

#endif
