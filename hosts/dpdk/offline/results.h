/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay writes: departures.pcap, postcards.raw and replay.json in one folder, all of
 * them or none.
 */
#ifndef NASHBED_RESULTS_H
#define NASHBED_RESULTS_H

#include <jansson.h>
#include <pcap/pcap.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "common/failure.h"
#include "core/collector.h"

struct results {
	const char *folder;
	uint64_t first_ns; /* since 1970; switch time 0 */
	pcap_dumper_t *departures;
};

/* Make the folder, unless it exists, and the files. The collector of the postcards, which is the
 * caller's; NULL with the failure set.
 */
struct collector *results_open(struct results *r, struct failure *failure);

/* A packet that left for the receivers; `captured` of its bytes are from the capture. */
void results_departure(struct results *r, struct rte_mbuf *mbuf, uint32_t captured,
		       uint64_t departure_ns);

/* Close the departures; postcards are the collector's statistics after its end. */
int results_finish(struct results *r, const struct collector_stats *postcards,
		   struct failure *failure);

/* Takes the reference. */
int results_summarise(struct results *r, json_t *summary, struct failure *failure);

/* Close and remove whatever is there. */
void results_discard(struct results *r);

#endif
