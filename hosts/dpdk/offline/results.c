/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/nanoseconds.h"

#define RESULT_PATH_BYTES 4096
#define DEPARTURES_FILE "departures.pcap"
#define SNAP_BYTES 65535

static int
not_written(const struct results *r, int error, struct failure *failure)
{
	return failure_set(failure, EXIT_STATUS_HOST, "%s: the results could not be written: %s",
			   r->folder, strerror(error));
}

static pcap_dumper_t *
open_departures(const char *path)
{
	pcap_t *form = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, SNAP_BYTES,
							    PCAP_TSTAMP_PRECISION_NANO);
	pcap_dumper_t *dumper = pcap_dump_open(form, path);

	pcap_close(form);
	return dumper;
}

static struct collector *
not_opened(const char *path, struct failure *failure)
{
	failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
	return NULL;
}

struct collector *
results_open(struct results *r, struct failure *failure)
{
	struct collector_config all = {.mode = COLLECT_ALL};
	struct collector *postcards;
	char path[RESULT_PATH_BYTES];

	if (mkdir(r->folder, 0777) < 0 && errno != EEXIST)
		return not_opened(r->folder, failure);
	snprintf(path, sizeof(path), "%s/" DEPARTURES_FILE, r->folder);
	r->departures = open_departures(path);
	if (r->departures == NULL)
		return not_opened(path, failure);
	snprintf(path, sizeof(path), "%s/" POSTCARDS_FILE, r->folder);
	postcards = collector_open(path, &all);
	return postcards != NULL ? postcards : not_opened(path, failure);
}

void
results_departure(struct results *r, struct rte_mbuf *mbuf, uint32_t captured,
		  uint64_t departure_ns)
{
	uint64_t t = r->first_ns + departure_ns;
	struct pcap_pkthdr header = {
		.ts = {.tv_sec = (time_t)(t / SECOND_NS), .tv_usec = (suseconds_t)(t % SECOND_NS)},
		.caplen = captured,
		.len = mbuf->pkt_len,
	};

	pcap_dump((uint8_t *)r->departures, &header, rte_pktmbuf_mtod(mbuf, uint8_t *));
}

/* 0 or the errno of a write that failed, now or before. */
static int
close_departures(struct results *r)
{
	bool failed = pcap_dump_flush(r->departures) != 0;
	int error = failed ? errno : 0;

	if (!failed && ferror(pcap_dump_file(r->departures)))
		error = EIO;
	pcap_dump_close(r->departures);
	r->departures = NULL;
	return error;
}

int
results_finish(struct results *r, const struct collector_stats *postcards, struct failure *failure)
{
	int error = close_departures(r);

	if (!error)
		error = postcards->error;
	return error ? not_written(r, error, failure) : 0;
}

int
results_summarise(struct results *r, json_t *summary, struct failure *failure)
{
	char path[RESULT_PATH_BYTES];
	int error;

	snprintf(path, sizeof(path), "%s/" SUMMARY_FILE, r->folder);
	error = json_dump_file(summary, path, JSON_INDENT(1)) == 0 ? 0 : errno;
	json_decref(summary);
	return error ? not_written(r, error, failure) : 0;
}

void
results_discard(struct results *r)
{
	static const char *const names[] = {DEPARTURES_FILE, POSTCARDS_FILE, SUMMARY_FILE};
	char path[RESULT_PATH_BYTES];

	if (r->departures != NULL)
		pcap_dump_close(r->departures);
	for (size_t i = 0; i < RTE_DIM(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->folder, names[i]);
		unlink(path);
	}
}
