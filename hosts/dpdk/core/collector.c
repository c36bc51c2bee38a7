/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "collector.h"

#include <errno.h>
#include <stdlib.h>

#include "postcard.h"

#define FILE_BUFFER_BYTES (1u << 20)

struct collector {
	struct collector_config config;
	struct collector_stats stats;
	FILE *file;
	struct bins *bins;
	uint32_t expected_seq;
};

static int
prepare_bins(struct collector *c)
{
	if (c->config.mode != COLLECT_BINS)
		return 0;
	c->bins = bins_create(c->config.bin_ns, c->config.start_ns, c->config.overtaken_ns,
			      c->config.first_flow, c->config.n_flows);
	return c->bins ? 0 : -ENOMEM;
}

struct collector *
collector_open(const char *path, const struct collector_config *config)
{
	struct collector *c = calloc(1, sizeof(*c));
	int error;

	if (c == NULL)
		return NULL;
	c->config = *config;
	c->file = fopen(path, "wb");
	if (c->file == NULL || prepare_bins(c) < 0) {
		error = errno;
		if (c->file != NULL)
			fclose(c->file);
		free(c);
		errno = error;
		return NULL;
	}
	setvbuf(c->file, NULL, _IOFBF, FILE_BUFFER_BYTES);
	return c;
}

static void
note_error(struct collector *c, int error)
{
	if (c->stats.error == 0)
		c->stats.error = error;
}

static int
write_record(struct collector *c, const void *record, size_t bytes)
{
	if (c->stats.error)
		return c->stats.error;
	if (fwrite(record, bytes, 1, c->file) != 1) {
		note_error(c, errno);
		return errno;
	}
	c->stats.written++;
	return 0;
}

static int
write_bin(void *context, const struct bin_record *record)
{
	return write_record(context, record, sizeof(*record));
}

static void
watch_sequence(struct collector *c, uint32_t lane_seq)
{
	if (c->stats.seen > 0)
		c->stats.gaps += (uint32_t)(lane_seq - c->expected_seq);
	c->expected_seq = lane_seq + 1;
	c->stats.seen++;
}

void
collector_add(struct collector *c, const uint8_t *bytes)
{
	struct postcard p;
	int error;

	postcard_decode(bytes, &p);
	watch_sequence(c, p.lane_seq);
	switch (c->config.mode) {
	case COLLECT_ALL:
		write_record(c, bytes, postcard_size(bytes));
		break;
	case COLLECT_BINS:
		error = bins_add(c->bins, &p, write_bin, c);
		if (error < 0)
			note_error(c, -error);
		break;
	}
}

struct collector_stats
collector_close(struct collector *c)
{
	struct collector_stats stats;

	if (c->bins != NULL) {
		bins_finish(c->bins, write_bin, c);
		bins_destroy(c->bins);
	}
	if (fclose(c->file) != 0)
		note_error(c, errno);
	stats = c->stats;
	free(c);
	return stats;
}
